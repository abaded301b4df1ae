/** Notices a server that cuts the front of a prompt off without a word: then the baseline is gone and no reply can be trusted. */
import type { SessionRecord } from '../../../shared/protocol/sessions.ts';
import { turnOf, type History } from '../session/history.ts';

/** No vocabulary in use needs fewer tokens for a byte. */
const tokensPerByteMin = 0.1;
/** Between turns the model may have been changed for one with another vocabulary. */
const otherVocabularyShare = 0.5;

/** What is wrong with a count of prompt tokens, or undefined. */
export function truncationOf(history: History, promptTokens: number | undefined): string | undefined {
  if (!promptTokens) return undefined;
  const least = leastTokens(history);
  if (promptTokens >= least) return undefined;
  return `the model server read ${promptTokens} tokens of a prompt that has at least ${least}: it cut the beginning off; give it a larger context`;
}

function leastTokens({ session, compact, turn, records }: History): number {
  const least = Math.floor(Buffer.byteLength(session.baseline.system) * tokensPerByteMin);
  const last = records.findLast((record) => record.type === 'assistant' && record.usage?.prompt_tokens);
  if (last?.type !== 'assistant' || last.seq < (compact?.seq ?? 0)) return least;
  const isSameTurn = turnOf(last) === turn;
  let tokens = last.usage?.prompt_tokens ?? 0;
  for (const record of records) {
    // A template may leave out reasoning that it sent before; at worst each of its bytes was a token.
    if (record.type === 'assistant' && record.turn === last.turn) tokens -= byteLength(record.reasoning);
    if (record.seq > last.seq) tokens += Math.floor(newBytes(record) * tokensPerByteMin);
  }
  return Math.max(least, isSameTurn ? tokens : Math.floor(tokens * otherVocabularyShare));
}

function newBytes(record: SessionRecord): number {
  return record.type === 'turn' || record.type === 'result' ? byteLength(record.text) : 0;
}

function byteLength(text: string | undefined): number {
  return Buffer.byteLength(text ?? '');
}

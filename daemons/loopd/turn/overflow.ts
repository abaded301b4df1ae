/**
 * When a prompt comes near the end of the model's context, and what then stands for its beginning: first the results
 * of old tool calls become a line each, then the oldest turns go. The baseline keeps its bytes, the records stay.
 */
import type { SessionRecord } from '../../../shared/protocol/sessions.ts';
import { estimateTokens } from '../../../shared/tokens.ts';
import { turnOf, type History } from '../session/history.ts';
import { promptMessages } from '../session/prompt.ts';
import { addToDigest, readDigest, writeDigest, type Sections } from './digest.ts';
import type { ModelMessage } from './effects.ts';

/** Left free beside prompt and reply: what the chat template adds. */
const marginTokens = 512;
const tokensPerMessage = 8;
/** A shortened prompt fills this much of the room, so that it is long before the next one. */
const filledShare = 0.5;
/** A shortening that wins less is none. */
const gainShareMin = 0.1;

export interface Room {
  readonly contextTokens: number;
  readonly maxTokens: number;
}

/** Whether the next request is likely to pass the context. */
export function isNearlyFull(history: History, { contextTokens, maxTokens }: Room): boolean {
  return promptTokens(history) + maxTokens + marginTokens > contextTokens;
}

/** Tokens of the next prompt: as the server counted them last, and an estimate that errs high of what came since. */
export function promptTokens(history: History): number {
  const { records, compact } = history;
  const measured = records.findLast(
    (record) =>
      record.type === 'assistant' && record.usage?.prompt_tokens && record.seq > (compact?.seq ?? 0),
  );
  if (measured?.type !== 'assistant')
    return history.session.baseline.tokens + tokensOf(promptMessages(history).slice(1));
  const { prompt_tokens: prompt = 0, completion_tokens: completion = 0 } = measured.usage ?? {};
  return (
    prompt +
    completion +
    tokensOf(promptMessages({ ...view(history), records: after(records, measured.seq) }).slice(1))
  );
}

export interface Compaction {
  readonly upTo: number;
  readonly text: string;
}

/** undefined where nothing that may go would make enough room. */
export function planCompaction(history: History, { contextTokens, maxTokens }: Room): Compaction | undefined {
  const { compact, turn } = history;
  const room = contextTokens - maxTokens - marginTokens - history.session.baseline.tokens;
  const goal = Math.max(0, room * filledShare);
  const kept = after(history.records, compact?.up_to ?? 0);
  const current = history.current;
  const closed = byTurn(kept.filter((record) => turnOf(record) !== turn));
  const sections = readDigest(compact?.text ?? '');
  sections.delete(turn);

  let left = goal - costOf(history, current);
  let upTo = current[0]!.seq - 1;
  // The newest finished turns stay as they are while they take no more than half of what is left.
  for (let keepable = left / 2; closed.length > 0; closed.pop()) {
    const records = closed.at(-1)![1];
    const cost = costOf(history, records);
    if (cost > keepable) break;
    keepable -= cost;
    left -= cost;
    upTo = records[0]!.seq - 1;
  }
  for (const [, records] of closed) addToDigest(sections, records);

  const steps = finishedSteps(current);
  if (left <= 0 && steps.length > 0) {
    // The turn itself is too long: its steps become lines too, and its text stays whole.
    upTo = steps.at(-1)!.seq;
    const running: Sections = new Map();
    addToDigest(running, [current[0]!, ...steps], true);
    const lines = [...running.get(turn)!, 'Go on with this turn.'];
    shrink(sections, goal - estimateTokens(lines.join('\n')));
    sections.set(turn, lines);
  } else shrink(sections, left);

  const text = writeDigest(sections, 1);
  return isWorthwhile(history, { upTo, text }) ? { upTo, text } : undefined;
}

/** Lets the oldest turns go until the rest fits. */
function shrink(sections: Sections, tokensMax: number): void {
  let tokens = estimateTokens(writeDigest(sections, 1));
  for (const [turn, lines] of sections) {
    if (tokens <= tokensMax) return;
    tokens -= estimateTokens(lines.join('\n'));
    sections.delete(turn);
  }
}

/** The steps of a running turn that are over, up to where its next request would start. */
function finishedSteps(current: readonly SessionRecord[]): SessionRecord[] {
  return current.filter((record) => record.type === 'assistant' || record.type === 'result');
}

function isWorthwhile(history: History, { upTo, text }: Compaction): boolean {
  if (upTo <= (history.compact?.up_to ?? 0) && text === history.compact?.text) return false;
  const before = tokensOf(promptMessages(history));
  const compact = { v: 1, seq: history.lastSeq + 1, at: '', type: 'compact', up_to: upTo, text } as const;
  return tokensOf(promptMessages({ ...view(history), compact })) < before * (1 - gainShareMin);
}

function view({ session, compact, records, turn }: History) {
  return { session, compact, records, turn };
}

function costOf(history: History, records: readonly SessionRecord[]): number {
  return tokensOf(promptMessages({ ...view(history), compact: undefined, records }).slice(1));
}

function byTurn(records: readonly SessionRecord[]): [turn: number, records: SessionRecord[]][] {
  const turns = new Map<number, SessionRecord[]>();
  for (const record of records) {
    const turn = turnOf(record)!;
    const known = turns.get(turn);
    if (known) known.push(record);
    else turns.set(turn, [record]);
  }
  return [...turns];
}

function after(records: readonly SessionRecord[], seq: number): SessionRecord[] {
  return records.filter((record) => record.seq > seq);
}

function tokensOf(messages: readonly ModelMessage[]): number {
  return messages.reduce((sum, message) => sum + messageTokens(message), 0);
}

function messageTokens(message: ModelMessage): number {
  const calls = message.role === 'assistant' ? JSON.stringify(message.tool_calls ?? []) : '';
  const reasoning = message.role === 'assistant' ? (message.reasoning_content ?? '') : '';
  return tokensPerMessage + estimateTokens(message.content + reasoning + calls);
}

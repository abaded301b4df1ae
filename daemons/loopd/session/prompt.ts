/**
 * The prompt of a request: a pure function of the session's records, so that a restart, a clock or another session
 * changes no byte of it and each request starts with the bytes of the one before.
 *
 *   record            message
 *   session           system: the baseline, as it was frozen
 *   compact           user: its text, in place of what it replaces
 *   turn              user
 *   assistant         assistant; its reasoning only within the same turn, invalid arguments never
 *   result            tool; exactly one for each call
 *   end               assistant: a fixed line, only where the turn has no answer
 */
import type { SessionRecord, SessionRecordOf, ToolCall } from '../../../shared/protocol/sessions.ts';
import type { ModelMessage } from '../turn/effects.ts';
import { judgeReply, nudges } from '../turn/judge.ts';

/** What of a session its prompt is made from; a History is one. */
export interface PromptSource {
  readonly session: SessionRecordOf<'session'>;
  readonly compact: SessionRecordOf<'compact'> | undefined;
  readonly records: readonly SessionRecord[];
  /** The newest turn. */
  readonly turn: number;
}

/** Stands for text that a model left out: some servers refuse a message without content. */
const noText = '(no text)';
const noResult = 'Interrupted: the outcome of this call is not known.';

export function promptMessages({ session, compact, records, turn }: PromptSource): ModelMessage[] {
  const messages: ModelMessage[] = [{ role: 'system', content: session.baseline.system }];
  const say = (content: string) => {
    const last = messages.at(-1)!;
    // Two of the same role in a row are refused by some templates.
    if (last.role === 'user')
      messages[messages.length - 1] = { role: 'user', content: `${last.content}\n\n${content}` };
    else messages.push({ role: 'user', content });
  };

  if (compact) say(compact.text);
  const kept = records.filter((record) => record.seq > (compact?.up_to ?? 0));
  const results = firstResults(kept);
  for (const record of kept) {
    if (record.type === 'turn') say(spoken(record.name, record.text));
    else if (record.type === 'assistant') {
      messages.push(...step(record, results, record.turn === turn));
      const verdict = judgeReply(record);
      // A turn that went on after a reply without calls went on because of this sentence.
      if (verdict in nudges && goesOn(kept, record)) say(nudges[verdict as keyof typeof nudges]);
    } else if (record.type === 'end' && record.outcome !== 'answer' && messages.at(-1)!.role !== 'assistant')
      messages.push({ role: 'assistant', content: withoutAnswer(record) });
  }
  return messages;
}

/** The arguments as they are sent back: what does not parse would make the server refuse every later request. */
export function argumentsText(call: ToolCall): string {
  return typeof call.arguments === 'string' ? '{}' : JSON.stringify(call.arguments);
}

function step(
  record: SessionRecordOf<'assistant'>,
  results: ReadonlyMap<string, string>,
  isCurrent: boolean,
): ModelMessage[] {
  const { calls = [], reasoning } = record;
  const text = spoken(record.name, record.text);
  return [
    {
      role: 'assistant',
      content: calls.length === 0 && text.trim() === '' ? noText : text,
      ...(isCurrent && reasoning ? { reasoning_content: reasoning } : {}),
      ...(calls.length === 0
        ? {}
        : {
            tool_calls: calls.map((call) => ({
              id: call.id,
              type: 'function' as const,
              function: { name: call.name, arguments: argumentsText(call) },
            })),
          }),
    },
    ...calls.map((call) => ({
      role: 'tool' as const,
      tool_call_id: call.id,
      content: results.get(call.id) ?? noResult,
    })),
  ];
}

function firstResults(records: readonly SessionRecord[]): Map<string, string> {
  const results = new Map<string, string>();
  for (const record of records)
    if (record.type === 'result' && !results.has(record.call)) results.set(record.call, record.text);
  return results;
}

/** Whether the turn asks again after this reply: no end follows it before the next reply. */
function goesOn(records: readonly SessionRecord[], reply: SessionRecordOf<'assistant'>): boolean {
  const next = records.find(
    ({ seq, type }) => seq > reply.seq && (type === 'assistant' || type === 'end' || type === 'turn'),
  );
  return next === undefined || next.type === 'assistant';
}

function spoken(name: string | undefined, text: string): string {
  return name === undefined ? text : `${name}: ${text}`;
}

function withoutAnswer({ outcome, error }: SessionRecordOf<'end'>): string {
  return `(No answer: ${error?.code ?? outcome}.)`;
}

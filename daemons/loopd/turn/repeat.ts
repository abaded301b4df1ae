/** Calls that the model makes again within a turn: which one came before, and how often. */
import type { SessionRecord, SessionRecordOf, ToolCall } from '../../../shared/protocol/sessions.ts';
import { callKey } from './call-key.ts';

/** The third identical call ends the steps: the next reply has to be an answer. */
export const identicalCallsMax = 3;

export interface Repeat {
  /** 1 for a call that is made for the first time. */
  readonly times: number;
  /** The newest result of an identical call. */
  readonly result?: SessionRecordOf<'result'>;
}

/**
 * Counts identical calls up to and with `call`. A call without effects starts anew after another call with effects:
 * looking again at what was just changed is no repetition.
 */
export function repeatOf(call: ToolCall, turnRecords: readonly SessionRecord[]): Repeat {
  const key = callKey(call);
  const withEffects = new Set(turnRecords.flatMap((record) => (record.type === 'call' ? [record.call] : [])));
  const results = new Map(
    turnRecords.flatMap((record) => (record.type === 'result' ? [[record.call, record] as const] : [])),
  );
  let times = 1;
  let result: SessionRecordOf<'result'> | undefined;
  let hadEffects = false;
  for (const earlier of turnRecords.flatMap((record) =>
    record.type === 'assistant' ? (record.calls ?? []) : [],
  )) {
    if (earlier.id === call.id) break;
    if (callKey(earlier) === key) {
      times += 1;
      result = results.get(earlier.id) ?? result;
      hadEffects ||= withEffects.has(earlier.id);
    } else if (withEffects.has(earlier.id) && !hadEffects) {
      times = 1;
      result = undefined;
    }
  }
  return result ? { times, result } : { times };
}

export function repeatedText(result: SessionRecordOf<'result'>, times: number): string {
  const note =
    times < identicalCallsMax
      ? 'Same call as before, not run again. Its result was:'
      : 'Same call as before, not run again. Answer now with what you have. Its result was:';
  const marker = '\n\n';
  // The result of a repeat holds the note already.
  const at = result.text.startsWith('Same call as before') ? result.text.indexOf(marker) : -1;
  return `${note}${marker}${at < 0 ? result.text : result.text.slice(at + marker.length)}`;
}

/** What the end of a turn tells the client besides the answer: what memory was written, or only claimed to be. */
import { errorKinds, type ErrorCode } from '../../../shared/errors.ts';
import type { SessionRecord, SessionRecordOf, ToolCall } from '../../../shared/protocol/sessions.ts';
import { claimsSave } from './save-claim.ts';

interface MemoryWrite {
  file: string;
  changed: { before: string | null; after: string | null }[];
}

interface MemoryRefusal {
  code: ErrorCode;
  file?: string;
}

/** The fields of `_meta` of a turn's end that follow from its records. */
export interface TurnReport {
  memory: MemoryWrite[];
  /** Writes that were refused and not made good later in the turn. */
  memory_refused?: MemoryRefusal[];
  claimed_save_without_write?: true;
}

const memoryTool = 'memory';

/** A pure function of the turn's records, so that the same turn is reported alike whenever it is asked for. */
export function turnReport(records: readonly SessionRecord[]): TurnReport {
  const calls = new Map(
    records.flatMap((record) =>
      record.type === 'assistant' ? (record.calls ?? []).map((call) => [call.id, call] as const) : [],
    ),
  );
  const memory: MemoryWrite[] = [];
  let refused: MemoryRefusal[] = [];
  let hasOtherEffects = false;
  for (const record of records) {
    if (record.type !== 'result') continue;
    const call = calls.get(record.call);
    const name = call?.name;
    if (name === memoryTool) {
      const reply = replyOf(record);
      const file = typeof reply?.['file'] === 'string' ? reply['file'] : undefined;
      const changed = reply?.['changed'];
      if (record.status === 'ok' && file !== undefined && Array.isArray(changed) && changed.length > 0) {
        memory.push({ file, changed: changed as MemoryWrite['changed'] });
        refused = [];
      } else if (record.status === 'error' && isErrorCode(reply?.['error'])) {
        const meant = file ?? meantFile(call);
        const refusal = { code: reply['error'], ...(meant === undefined ? {} : { file: meant }) };
        if (!refused.some((one) => one.code === refusal.code && one.file === meant)) refused.push(refusal);
      }
    } else if (name === 'call_tool' && record.status === 'ok') hasOtherEffects = true;
  }
  const claims = memory.length === 0 && claimsSave(answerOf(records), { hasOtherEffects });
  return {
    memory,
    ...(refused.length > 0 ? { memory_refused: refused } : {}),
    ...(claims ? { claimed_save_without_write: true as const } : {}),
  };
}

/** The file that a call names, or the one that an `add` goes to without a name. */
function meantFile(call: ToolCall | undefined): string | undefined {
  if (call === undefined || typeof call.arguments === 'string') return undefined;
  const { file, target, action } = call.arguments;
  const named = file ?? target ?? (action === 'add' ? 'memory' : undefined);
  return typeof named === 'string' ? named : undefined;
}

/** Arguments that were wrong are the model's affair and no refusal. */
function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(errorKinds, code);
}

function answerOf(records: readonly SessionRecord[]): string {
  const last = records.findLast((record) => record.type === 'assistant');
  return last?.type === 'assistant' ? last.text : '';
}

/** The JSON of a result of the memory tool; a repeat of an earlier result is none. */
function replyOf({ text }: SessionRecordOf<'result'>): Record<string, unknown> | undefined {
  if (!text.startsWith('{')) return undefined;
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

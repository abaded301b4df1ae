/** record/put: stores one record of a kind, or refuses it by field and value. */
import type { Call, Params, Result } from '../../../shared/protocol/method.ts';
import type { MemorydProtocol } from '../../../shared/protocol/memoryd.ts';
import { recordKinds, type RecordKind } from '../../../shared/protocol/records.ts';
import { checkRecord } from '../plane/check.ts';
import { complete } from '../plane/complete.ts';
import type { PlaneContext } from '../plane/context.ts';
import { importedMark } from '../plane/imported-mark.ts';
import { keyOf } from '../plane/keys.ts';
import type { RecordOperation } from '../plane/records.ts';

type Put = Params<MemorydProtocol, 'record/put'>;
type Reply = Result<MemorydProtocol, 'record/put'>;

/** Everything up to the commit happens before this returns, so that the puts of a connection keep their order. */
export function recordPut(params: Put, context: PlaneContext, { role, method }: Call): Promise<Reply> {
  const { kind, record, run_id: runId } = params;
  const parts = checkRecord({ kind, record, runId, role });
  const { write, flushed }: RecordKind = recordKinds[kind];
  const whole = complete(kind, record);

  return context.requests.once<Reply>({ role, method }, params, async (remember) => {
    const seq = context.store.nextSequence();
    const key = keyOf(kind, { ...parts, seq });
    const reply: Reply = write === 'append' ? { key, seq } : { key };
    const put = { type: 'put', key, json: JSON.stringify(whole), seq } as const;
    const marks = kind === 'goal_state' ? ownRuling(key, context) : [];
    await context.store.commit([put, ...marks, ...remember(reply)], flushed === true ? { sync: true } : {});
    context.onRecord?.({ kind, key, seq, record: whole });
    return reply;
  });
}

/** What is ruled here is no longer what an import brought. */
function ownRuling(key: string, { store }: PlaneContext): RecordOperation[] {
  const mark = importedMark(key);
  return store.get(mark) === undefined ? [] : [{ type: 'del', key: mark }];
}

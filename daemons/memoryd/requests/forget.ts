/** forget: a session, a run, or what says a text; from index, records and curated history, with a report. */
import type { MemorydProtocol } from '../../../shared/protocol/memoryd.ts';
import type { Call, Params, Result } from '../../../shared/protocol/method.ts';
import type { Intake } from '../intake/intake.ts';
import type { RecordStore } from '../store/record-store.ts';
import type { RequestLedger } from '../store/requests.ts';

interface ForgetContext {
  readonly intake: Intake;
  readonly store: Pick<RecordStore, 'commit'>;
  readonly requests: Pick<RequestLedger, 'once'>;
}

type Reply = Result<MemorydProtocol, 'forget'>;

export async function forget(
  params: Params<MemorydProtocol, 'forget'>,
  { intake, store, requests }: ForgetContext,
  { role, method }: Call,
): Promise<Reply> {
  return await requests.once<Reply>({ role, method }, params, async (remember) => {
    const { request_id: _, ...asked } = params;
    const reply = await intake.forget(asked);
    const operations = remember(reply);
    if (operations.length > 0) await store.commit(operations, { sync: true });
    return reply;
  });
}

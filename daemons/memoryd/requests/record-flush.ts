/** record/flush: everything that was written before is on the disk when this answers. */
import type { Call, Params, Result } from '../../../shared/protocol/method.ts';
import type { MemorydProtocol } from '../../../shared/protocol/memoryd.ts';
import type { PlaneContext } from '../plane/context.ts';

type Reply = Result<MemorydProtocol, 'record/flush'>;

/** Sent again with the same `request_id` it flushes again: what was written in between is meant too. */
export async function recordFlush(
  params: Params<MemorydProtocol, 'record/flush'>,
  { store, requests }: Pick<PlaneContext, 'store' | 'requests'>,
  { role, method }: Call,
): Promise<Reply> {
  if (params.request_id !== undefined) {
    await requests.once<Reply>({ role, method }, params, async (remember) => {
      await store.commit(remember({}));
      return {};
    });
  }
  await store.flush();
  return {};
}

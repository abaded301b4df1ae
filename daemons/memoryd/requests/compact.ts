/** compact: gives the space of what was deleted back to the disk. */
import type { MemorydProtocol } from '../../../shared/protocol/memoryd.ts';
import type { Params, Result } from '../../../shared/protocol/method.ts';
import type { RecordStore } from '../store/record-store.ts';

interface CompactContext {
  readonly store: Pick<RecordStore, 'size' | 'compact'>;
}

export async function compact(
  _params: Params<MemorydProtocol, 'compact'>,
  { store }: CompactContext,
): Promise<Result<MemorydProtocol, 'compact'>> {
  const before = await store.size();
  await store.compact('');
  return { before, after: await store.size() };
}

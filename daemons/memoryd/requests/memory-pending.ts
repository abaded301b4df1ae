/** memory/pending: writes of a model that wait for approval. */
import type { MemorydProtocol } from '../../../shared/protocol/memoryd.ts';
import type { Params, Result } from '../../../shared/protocol/method.ts';
import type { CuratedContext } from '../curated/curated-memory.ts';

export async function memoryPending(
  _params: Params<MemorydProtocol, 'memory/pending'>,
  { curated }: CuratedContext,
): Promise<Result<MemorydProtocol, 'memory/pending'>> {
  return { pending: await curated.pending() };
}

/** memory/show: the entries of one curated file with their provenance, now or as they were at a time. */
import type { MemorydProtocol } from '../../../shared/protocol/memoryd.ts';
import type { Params, Result } from '../../../shared/protocol/method.ts';
import type { CuratedContext } from '../curated/curated-memory.ts';

export function memoryShow(
  params: Params<MemorydProtocol, 'memory/show'>,
  { curated }: CuratedContext,
): Promise<Result<MemorydProtocol, 'memory/show'>> {
  return curated.show(params);
}

/** memory: views or changes one curated file. */
import type { MemorydProtocol } from '../../../shared/protocol/memoryd.ts';
import type { Call, Params, Result } from '../../../shared/protocol/method.ts';
import type { CuratedContext } from '../curated/curated-memory.ts';

export function memory(
  params: Params<MemorydProtocol, 'memory'>,
  { curated }: CuratedContext,
  call: Call,
): Promise<Result<MemorydProtocol, 'memory'>> {
  return curated.apply(params, call);
}

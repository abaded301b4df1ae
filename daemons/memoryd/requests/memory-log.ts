/** memory/log: the changes of one curated file, newest first. */
import type { MemorydProtocol } from '../../../shared/protocol/memoryd.ts';
import type { Params, Result } from '../../../shared/protocol/method.ts';
import type { CuratedContext } from '../curated/curated-memory.ts';

export function memoryLog(
  params: Params<MemorydProtocol, 'memory/log'>,
  { curated }: CuratedContext,
): Promise<Result<MemorydProtocol, 'memory/log'>> {
  return curated.log(params);
}

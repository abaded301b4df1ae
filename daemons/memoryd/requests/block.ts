/** block: both curated files rendered for a new baseline. */
import type { MemorydProtocol } from '../../../shared/protocol/memoryd.ts';
import type { Params, Result } from '../../../shared/protocol/method.ts';
import type { CuratedContext } from '../curated/curated-memory.ts';

export function block(
  _params: Params<MemorydProtocol, 'block'>,
  { curated }: CuratedContext,
): Promise<Result<MemorydProtocol, 'block'>> {
  return curated.block();
}

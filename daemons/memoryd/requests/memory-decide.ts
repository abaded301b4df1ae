/** memory/decide: approves or rejects one pending write. */
import type { MemorydProtocol } from '../../../shared/protocol/memoryd.ts';
import type { Call, Params, Result } from '../../../shared/protocol/method.ts';
import type { CuratedContext } from '../curated/curated-memory.ts';

export function memoryDecide(
  params: Params<MemorydProtocol, 'memory/decide'>,
  { curated }: CuratedContext,
  call: Call,
): Promise<Result<MemorydProtocol, 'memory/decide'>> {
  return curated.decide(params, call);
}

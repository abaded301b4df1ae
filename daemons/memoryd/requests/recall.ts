/** recall: what past sessions and runs say about a query, best first, with its context. */
import type { MemorydProtocol } from '../../../shared/protocol/memoryd.ts';
import type { Params, Result } from '../../../shared/protocol/method.ts';
import type { Intake } from '../intake/intake.ts';

export async function recall(
  params: Params<MemorydProtocol, 'recall'>,
  { intake }: { readonly intake: Intake },
): Promise<Result<MemorydProtocol, 'recall'>> {
  return await intake.recall(params);
}

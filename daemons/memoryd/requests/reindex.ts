/** reindex: builds the recall index anew while the one before goes on answering. */
import type { MemorydProtocol } from '../../../shared/protocol/memoryd.ts';
import type { Params, Result } from '../../../shared/protocol/method.ts';
import type { Intake } from '../intake/intake.ts';

export async function reindex(
  _params: Params<MemorydProtocol, 'reindex'>,
  { intake }: { readonly intake: Intake },
): Promise<Result<MemorydProtocol, 'reindex'>> {
  return await intake.reindex();
}

/** updated: a session's log has grown or is gone; answers when what was read can be found. */
import type { MemorydProtocol } from '../../../shared/protocol/memoryd.ts';
import type { Params, Result } from '../../../shared/protocol/method.ts';
import type { Intake } from '../intake/intake.ts';

export async function updated(
  { session }: Params<MemorydProtocol, 'updated'>,
  { intake }: { readonly intake: Intake },
): Promise<Result<MemorydProtocol, 'updated'>> {
  return await intake.updated(session);
}

/** verify: reads every record, and compares the recall index with a rebuild of it. */
import type { MemorydProtocol } from '../../../shared/protocol/memoryd.ts';
import type { Params, Result } from '../../../shared/protocol/method.ts';
import type { Intake } from '../intake/intake.ts';
import type { RecordStore } from '../store/record-store.ts';

interface VerifyContext {
  readonly intake: Intake;
  readonly store: Pick<RecordStore, 'verify'>;
}

export async function verify(
  _params: Params<MemorydProtocol, 'verify'>,
  { intake, store }: VerifyContext,
): Promise<Result<MemorydProtocol, 'verify'>> {
  const { records, damagedKeys } = await store.verify();
  const index = await intake.verify();
  return { ok: damagedKeys.length === 0 && index.equal, records, damaged: [...damagedKeys], index };
}

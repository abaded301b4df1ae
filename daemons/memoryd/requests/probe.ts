/** probe: a real record through the store, the index and recall, then forgotten again. */
import { randomBytes } from 'node:crypto';
import { AppError } from '../../../shared/errors.ts';
import type { MemorydProtocol } from '../../../shared/protocol/memoryd.ts';
import type { Call, Params, Result } from '../../../shared/protocol/method.ts';
import type { MemorydContext } from '../context.ts';
import { recordPut } from './record-put.ts';

/** A run of its own, forgotten at the end; a run of this name is nobody else's. */
const probeRun = 'loopkeep-probe';

export async function probe(
  _params: Params<MemorydProtocol, 'probe'>,
  context: MemorydContext,
  call: Call,
): Promise<Result<MemorydProtocol, 'probe'>> {
  const { intake, faults, nowMs } = context;
  const steps: { step: string; ms: number }[] = [];
  const timed = async <T>(step: string, work: () => Promise<T>): Promise<T> => {
    const begun = performance.now();
    const done = await work();
    steps.push({ step, ms: performance.now() - begun });
    return done;
  };
  const word = `probe${randomBytes(8).toString('hex')}`;
  const episode = {
    run_id: probeRun,
    iteration: 0,
    node_id: 'probe',
    role: 'probe',
    provider_id: 'memoryd',
    prompt_digest: '',
    output: `The probe says ${word}.`,
    created_ms: nowMs(),
  };
  try {
    await timed('write', async () => recordPut({ kind: 'episode', record: episode }, context, call));
    await timed('index', () => intake.caughtUp());
    await timed('recall', async () => {
      const { hits } = await intake.recall({ query: word, sources: ['episode'] });
      if (!hits.some(({ text }) => text.includes(word))) {
        throw new AppError('memory-index-damaged', `recall does not find ${word}, which was just written`);
      }
    });
  } catch (thrown) {
    faults.failed('probe');
    throw thrown;
  } finally {
    await timed('forget', () => intake.forget({ run_id: probeRun }));
  }
  faults.succeeded('probe');
  return { ok: true, steps };
}

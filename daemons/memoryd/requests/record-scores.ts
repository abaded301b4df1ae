/** record/scores: how each skill has done over all its trials. */
import type { Result } from '../../../shared/protocol/method.ts';
import type { MemorydProtocol } from '../../../shared/protocol/memoryd.ts';
import { readBack } from '../plane/complete.ts';
import type { PlaneContext } from '../plane/context.ts';
import { rangeOf } from '../plane/keys.ts';
import { pagesOf, readEach } from '../plane/read-each.ts';
import { SkillScores, type Trial } from '../plane/scores.ts';

export async function recordScores(
  _: unknown,
  { store, nowMs }: Pick<PlaneContext, 'store' | 'nowMs'>,
): Promise<Result<MemorydProtocol, 'record/scores'>> {
  const scores = new SkillScores();
  const damaged = await readEach(pagesOf(store, rangeOf('skill_trial')), ({ json }) => {
    scores.add(readBack('skill_trial', json, nowMs()) as unknown as Trial);
  });
  return { scores: scores.ranked(), ...(damaged.length === 0 ? {} : { damaged }) };
}

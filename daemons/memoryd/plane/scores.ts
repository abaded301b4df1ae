/** How each skill has done: trials counted one at a time, so that only the skills are held, not their history. */
import type { SkillScore } from '../../../shared/protocol/replies.ts';

export interface Trial {
  readonly skill: string;
  readonly source: string;
  readonly pass_rate: number;
  readonly satisfied: boolean;
}

interface Tally {
  trials: number;
  satisfied: number;
  passRates: number;
  readonly sources: Set<string>;
}

export class SkillScores {
  readonly #tallies = new Map<string, Tally>();

  /** Trials come in the order they happened: the first says the source. */
  add({ skill, source, pass_rate: passRate, satisfied }: Trial): void {
    let tally = this.#tallies.get(skill);
    if (tally === undefined) {
      tally = { trials: 0, satisfied: 0, passRates: 0, sources: new Set() };
      this.#tallies.set(skill, tally);
    }
    tally.trials += 1;
    tally.satisfied += satisfied ? 1 : 0;
    tally.passRates += passRate;
    tally.sources.add(source);
  }

  /** By satisfaction rate, then by trials, the higher first; then by name, so that the order is always the same. */
  ranked(): SkillScore[] {
    const scores = [...this.#tallies].map(([skill, { trials, satisfied, passRates, sources }]) => ({
      skill,
      trials,
      satisfied,
      satisfaction_rate: satisfied / trials,
      mean_pass_rate: passRates / trials,
      source: [...sources][0] ?? '',
      sources: [...sources],
    }));
    return scores.toSorted(
      (a, b) =>
        b.satisfaction_rate - a.satisfaction_rate || b.trials - a.trials || (a.skill < b.skill ? -1 : 1),
    );
  }
}

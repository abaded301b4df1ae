/** How good a ranking is, given which of its members are evidence. Pure. */
import type { Question } from './data.ts';

/** What an engine found, best first: `<session> <ref>` of turns. */
export type Ranking = readonly string[];

export interface Figures {
  readonly questions: number;
  /** Share of questions with any evidence turn among the first 1, 5, 10. */
  readonly turn1: number;
  readonly turn5: number;
  readonly turn10: number;
  /** Share of questions with all evidence turns among the first 10. */
  readonly all10: number;
  readonly mrr: number;
  readonly ndcg10: number;
  readonly session1: number;
  readonly session5: number;
  readonly session10: number;
}

type Scores = Omit<Figures, 'questions'>;

export function scoresOf(ranking: Ranking, { evidence, sessions }: Question): Scores {
  const at = ranking.findIndex((turn) => evidence.has(turn));
  const found = new Set(ranking.slice(0, 10));
  const ranked = [...new Set(ranking.map((turn) => turn.slice(0, turn.indexOf(' '))))];
  const sessionAt = ranked.findIndex((session) => sessions.has(session));
  return {
    turn1: within(at, 1),
    turn5: within(at, 5),
    turn10: within(at, 10),
    all10: [...evidence].every((turn) => found.has(turn)) ? 1 : 0,
    mrr: at === -1 ? 0 : 1 / (at + 1),
    ndcg10: ndcg(ranking, evidence, 10),
    session1: within(sessionAt, 1),
    session5: within(sessionAt, 5),
    session10: within(sessionAt, 10),
  };
}

/** In percent. */
export function meanOf(all: readonly Scores[]): Figures {
  const mean = (name: keyof Scores) =>
    (100 * all.reduce((sum, scores) => sum + scores[name], 0)) / all.length;
  return {
    questions: all.length,
    turn1: mean('turn1'),
    turn5: mean('turn5'),
    turn10: mean('turn10'),
    all10: mean('all10'),
    mrr: mean('mrr'),
    ndcg10: mean('ndcg10'),
    session1: mean('session1'),
    session5: mean('session5'),
    session10: mean('session10'),
  };
}

/** The value below which the share `q` of all lies. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN;
}

const within = (at: number, first: number) => (at !== -1 && at < first ? 1 : 0);

function ndcg(ranking: Ranking, evidence: ReadonlySet<string>, first: number): number {
  const gain = (at: number) => 1 / Math.log2(at + 2);
  const found = ranking
    .slice(0, first)
    .reduce((sum, turn, at) => sum + (evidence.has(turn) ? gain(at) : 0), 0);
  let best = 0;
  for (let at = 0; at < Math.min(first, evidence.size); at += 1) best += gain(at);
  return found / best;
}

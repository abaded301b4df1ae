/** What meaning, and a look at the texts themselves, add to the first score of the best turns. */
import { none, type Columns } from '../index/columns.ts';
import { weights } from './weights.ts';

/** Neighbours in the query that are neighbours in the turn, saturated like counts. */
export function pairScore(
  query: readonly string[],
  sequence: readonly string[],
  idf: (term: string) => number,
): number {
  let score = 0;
  for (let at = 0; at + 1 < query.length; at += 1) {
    const [first, second] = [query[at]!, query[at + 1]!];
    let count = 0;
    for (let place = 0; place + 1 < sequence.length; place += 1) {
      if (sequence[place] === first && sequence[place + 1] === second) count += 1;
    }
    const { saturation } = weights;
    const gain = Math.max(idf(first), idf(second));
    score += (gain * count * (1 + saturation)) / (count + saturation);
  }
  return score;
}

/** Likeness of the turn and its neighbours to the query, by what their words mean. */
export function meaningScore(turn: number, columns: Columns, likeness: (turn: number) => number): number {
  let score = likeness(turn);
  let neighbour = turn;
  for (const share of weights.meaningBefore) {
    neighbour = columns.before[neighbour]!;
    if (neighbour === none) break;
    score += share * likeness(neighbour);
  }
  neighbour = turn;
  for (const share of weights.meaningAfter) {
    neighbour = columns.after[neighbour]!;
    if (neighbour === none) break;
    score += share * likeness(neighbour);
  }
  return Math.max(0, score);
}

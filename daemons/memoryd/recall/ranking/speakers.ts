/** Who a query speaks of: people named as speakers of a channel, or the person and the assistant of the device. */
import type { Columns } from '../index/columns.ts';
import type { SpeakerNames } from '../index/speaker-names.ts';
import { fold } from '../analysis/fold.ts';
import { writtenWords } from '../analysis/analyse.ts';
import { weights } from './weights.ts';

export interface NamedSpeakers {
  /** Their numbers. */
  readonly numbers: ReadonlySet<number>;
  /** Words of the query that are their names; they say who, not what. */
  readonly words: ReadonlySet<string>;
}

/** Words of a name that are too short to be told from others. */
const nameCharsMin = 2;

export function namedSpeakers(query: string, names: SpeakerNames): NamedSpeakers {
  const folded = fold(query);
  const inQuery = new Map(
    writtenWords(folded).map(({ word, start, end }) => [word, folded.text.slice(start, end)]),
  );
  const hasCapitals = /\p{Lu}/u.test(folded.text);
  const numbers = new Set<number>();
  const words = new Set<string>();
  for (const [number, name] of names.entries()) {
    for (const { word } of writtenWords(fold(name))) {
      const written = inQuery.get(word);
      if (written === undefined || word.length < nameCharsMin) continue;
      // Who writes capitals at all writes them in names: a will or a mark is then no Will and no Mark.
      if (hasCapitals && !/\p{Lu}|\p{Lo}/u.test(written)) continue;
      numbers.add(number);
      words.add(word);
    }
  }
  return { numbers, words };
}

/** For each session the factor by which its turns count: a named person's sessions are the more telling the fewer they are. */
export function participation(
  columns: Columns,
  speakers: ReadonlySet<number>,
  sessions: { total: number; count: number },
): Float32Array {
  const factors = new Float32Array(sessions.total).fill(1);
  for (const speaker of speakers) {
    const present = new Uint8Array(sessions.total);
    let presentCount = 0;
    for (let turn = 0; turn < columns.count; turn += 1) {
      if (columns.speaker[turn] !== speaker) continue;
      const session = columns.session[turn]!;
      if (present[session] === 0) presentCount += 1;
      present[session] = 1;
    }
    if (presentCount === 0) continue;
    const factor = 1 + weights.participant * Math.log2(sessions.count / presentCount);
    for (let session = 0; session < present.length; session += 1) {
      if (present[session] === 1) factors[session] = Math.max(factors[session]!, factor);
    }
  }
  return factors;
}

/** Who a query speaks of: people named as speakers of a channel, or the person and the assistant of the device. */
import type { RecallRole } from '../../../../shared/protocol/replies.ts';
import type { Participants } from '../index/participants.ts';
import type { Sessions } from '../index/sessions.ts';
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

/**
 * On a device with one person, I is that person and you the assistant: whose turns a query asks for, if it says so and
 * not both.
 */
export function askedRole(query: string): RecallRole | undefined {
  const ofPerson = /\b(?:i|me|my|mine|myself)\b/i.test(query);
  const ofAssistant = /\b(?:you|your|yours|yourself)\b/i.test(query);
  if (ofPerson === ofAssistant) return undefined;
  return ofPerson ? 'person' : 'assistant';
}

/** For each session the factor by which its turns count: a named person's sessions are the more telling the fewer they are. */
export function participation(
  speakers: ReadonlySet<number>,
  { participants, sessions }: { participants: Participants; sessions: Sessions },
): Float32Array | undefined {
  if (speakers.size === 0) return undefined;
  const factors = new Float32Array(sessions.total).fill(1);
  for (const speaker of speakers) {
    const present = new Uint8Array(sessions.total);
    let count = 0;
    for (const session of participants.of(speaker)) {
      if (present[session] === 1 || sessions.lengths[session] === 0) continue;
      present[session] = 1;
      count += 1;
    }
    if (count === 0) continue;
    const factor = 1 + weights.participant * Math.log2(Math.max(1, sessions.count / count));
    for (let session = 0; session < present.length; session += 1) {
      if (present[session] === 1) factors[session] = Math.max(factors[session]!, factor);
    }
  }
  return factors;
}

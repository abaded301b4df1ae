/** Histories of any length: sessions drawn from real ones with rare words mixed in, or made of words alone. Seeded. */
import type { ImportedSession } from '../import/imported-session.ts';
import { turnsOf } from './engine.ts';

/** How many words of a drawn session are replaced, so that the vocabulary grows as it does in life. */
const replacedShare = 0.12;
const vocabularySize = 50_000;
/** Of a session that is made of words alone. */
const turnsPerSession = 22;
const wordsPerTurn = 25;
const hourMs = 60 * 60 * 1000;
const firstMs = Date.UTC(2024, 0, 1);

/** A small generator of numbers in [0, 1), the same for the same seed. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  below(end: number): number {
    return Math.floor(this.next() * end);
  }
}

/** The word of a rank, by Zipf's law: rank r is drawn about 1/r as often as the first. */
function zipfWord(random: Random): string {
  return wordOf(Math.floor(vocabularySize ** random.next()));
}

const onsets = 'b c d f g h j k l m n p r s t v w z br cl dr fl gr pl st tr'.split(' ');
const nuclei = 'a e i o u ai ea oo'.split(' ');

function wordOf(rank: number): string {
  let word = '';
  for (let rest = rank + 1; rest > 0; rest = Math.floor(rest / (onsets.length * nuclei.length))) {
    word +=
      (onsets[rest % onsets.length] ?? '') + (nuclei[Math.floor(rest / onsets.length) % nuclei.length] ?? '');
  }
  return word;
}

/** So many turns, in sessions an hour apart. Without `drawn` they are made of words alone. */
export function* syntheticSessions(
  drawn: readonly ImportedSession[],
  { turns, seed }: { turns: number; seed: number },
): Generator<ImportedSession, void, undefined> {
  const random = new Random(seed);
  let made = 0;
  for (let number = 0; made < turns; number += 1) {
    const startedMs = firstMs + number * hourMs;
    const texts =
      drawn.length === 0 ? wordTurns(random) : mixedTurns(random, drawn[random.below(drawn.length)]);
    const said = texts.slice(0, turns - made);
    made += said.length;
    yield {
      id: `scale-${number}`,
      startedAt: new Date(startedMs).toISOString(),
      origin: 'person',
      records: said.map(({ text, name }, turn) => ({
        type: 'turn',
        turn,
        text,
        ...(name === undefined ? {} : { name }),
        ref: String(turn),
        at: new Date(startedMs + turn * 1000).toISOString(),
      })),
    };
  }
}

interface Said {
  readonly text: string;
  readonly name?: string;
}

function wordTurns(random: Random): Said[] {
  const length = 1 + random.below(2 * turnsPerSession);
  return Array.from({ length }, () => ({
    text: Array.from({ length: 1 + random.below(2 * wordsPerTurn) }, () => zipfWord(random)).join(' '),
  }));
}

function mixedTurns(random: Random, session: ImportedSession | undefined): Said[] {
  const names = session?.records.flatMap((record) => ('name' in record ? [record.name] : [])) ?? [];
  return (session === undefined ? [] : turnsOf({ ...session, records: session.records.map(unnamed) })).map(
    ({ text }, at) => {
      const mixed = text.replaceAll(/[\p{L}\p{N}']+/gu, (word) =>
        random.next() < replacedShare ? zipfWord(random) : word,
      );
      const name = names[at];
      return name === undefined ? { text: mixed } : { text: mixed, name };
    },
  );
}

function unnamed(record: ImportedSession['records'][number]): ImportedSession['records'][number] {
  if (!('name' in record)) return record;
  const { name: _, ...rest } = record;
  return rest;
}

/** Questions where no real ones are given: words that occur, some often and some seldom. */
export function syntheticQuestions(count: number, seed: number): string[] {
  const random = new Random(seed);
  return Array.from({ length: count }, () =>
    Array.from({ length: 3 + random.below(5) }, () => zipfWord(random)).join(' '),
  );
}

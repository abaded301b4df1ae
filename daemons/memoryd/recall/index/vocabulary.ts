/** The words of the index with the number of turns that hold them, and which of them look like a given one. Loaded when first needed. */
import { ByteReader, ByteWriter } from './bytes.ts';

/** Words beyond this many are not offered as spellings: ids and data would fill the memory. */
const wordsMax = 300_000;
const wordCharsMin = 3;
const wordCharsMax = 24;
const asciiWord = /^[a-z]+$/;
const anyWord = /^[\p{L}\p{M}]+$/u;

/** Whether a term is a word that can be misspelt, rather than a name, a number or a picture. */
export function isSpellable(term: string): boolean {
  return (
    term.length >= wordCharsMin && term.length <= wordCharsMax && (asciiWord.test(term) || anyWord.test(term))
  );
}

export interface Similar {
  readonly term: string;
  /** Dice coefficient of the two sets of letter triples, 0..1. */
  readonly likeness: number;
}

export class Vocabulary {
  readonly #numbers = new Map<string, number>();
  readonly #words: string[] = [];
  #counts = new Uint32Array(1_024);
  /** Two words of 32 bits for each word: which letter triples it has, hashed. */
  #signatures = new Uint32Array(2_048);

  get size(): number {
    return this.#words.length;
  }

  /** Turns that hold the term, about; 0 where it is unknown or no word. */
  countOf(term: string): number {
    const number = this.#numbers.get(term);
    return number === undefined ? 0 : this.#counts[number]!;
  }

  add(term: string, count: number): void {
    if (!isSpellable(term)) return;
    const known = this.#numbers.get(term);
    if (known !== undefined) {
      this.#counts[known]! += count;
      return;
    }
    if (this.#words.length >= wordsMax) return;
    const number = this.#words.length;
    if (number === this.#counts.length) this.#grow();
    this.#numbers.set(term, number);
    this.#words.push(term);
    this.#counts[number] = count;
    const [low, high] = signatureOf(triplesOf(term));
    this.#signatures[number * 2] = low;
    this.#signatures[number * 2 + 1] = high;
  }

  /** The words most like the term, best first, itself left out. */
  similar(term: string, { likenessMin, max }: { likenessMin: number; max: number }): Similar[] {
    const triples = triplesOf(term);
    const [low, high] = signatureOf(triples);
    const found: Similar[] = [];
    for (let number = 0; number < this.#words.length; number += 1) {
      const shared =
        ones(low & this.#signatures[number * 2]!) + ones(high & this.#signatures[number * 2 + 1]!);
      const word = this.#words[number]!;
      // Two shared triples may fall on one bit, so the signature may count one or two too few.
      if ((shared + 2) * 2 < likenessMin * (triples.size + word.length) || word === term) continue;
      const likeness = dice(triples, triplesOf(word));
      if (likeness >= likenessMin) found.push({ term: word, likeness });
    }
    return found
      .toSorted((a, b) => b.likeness - a.likeness || this.countOf(b.term) - this.countOf(a.term))
      .slice(0, max);
  }

  #grow(): void {
    const counts = new Uint32Array(this.#counts.length * 2);
    counts.set(this.#counts);
    this.#counts = counts;
    const signatures = new Uint32Array(this.#signatures.length * 2);
    signatures.set(this.#signatures);
    this.#signatures = signatures;
  }
}

/** The triples of a word with its edges marked: its length many. */
export function triplesOf(word: string): Set<string> {
  const marked = `^${word}$`;
  const triples = new Set<string>();
  for (let at = 0; at + 3 <= marked.length; at += 1) triples.add(marked.slice(at, at + 3));
  return triples;
}

function dice(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  let shared = 0;
  for (const triple of one) if (other.has(triple)) shared += 1;
  return (2 * shared) / (one.size + other.size);
}

function signatureOf(triples: ReadonlySet<string>): [low: number, high: number] {
  let low = 0;
  let high = 0;
  for (const triple of triples) {
    const hash = Math.imul(
      triple.charCodeAt(0) * 961 + triple.charCodeAt(1) * 31 + triple.charCodeAt(2),
      0x9e3779b1,
    );
    const bit = 1 << ((hash >>> 8) & 31);
    if (hash >>> 31 === 1) high |= bit;
    else low |= bit;
  }
  return [low >>> 0, high >>> 0];
}

function ones(bits: number): number {
  let rest = bits - ((bits >>> 1) & 0x55555555);
  rest = (rest & 0x33333333) + ((rest >>> 2) & 0x33333333);
  return Math.imul((rest + (rest >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** The words of a segment as bytes; terms that are no words are left out. Given in key order, shared beginnings are written once. */
export class WordsWriter {
  readonly #bytes = new ByteWriter(4_096);
  #last = '';

  add(term: string, count: number): void {
    if (!isSpellable(term)) return;
    let shared = 0;
    while (shared < term.length && term[shared] === this.#last[shared]) shared += 1;
    // A shared half of a pair would leave the other half alone, which is no string.
    if (shared > 0 && /[\ud800-\udbff]/.test(term[shared - 1]!)) shared -= 1;
    this.#bytes.varint(shared);
    this.#bytes.string(term.slice(shared));
    this.#bytes.varint(count);
    this.#last = term;
  }

  take(): Uint8Array {
    this.#last = '';
    return this.#bytes.take();
  }
}

export function readWords(value: Uint8Array, take: (term: string, count: number) => void): void {
  const bytes = new ByteReader(value);
  let last = '';
  while (!bytes.done) {
    const shared = bytes.varint();
    last = last.slice(0, shared) + bytes.string();
    take(last, bytes.varint());
  }
}

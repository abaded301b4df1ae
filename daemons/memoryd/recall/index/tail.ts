/** The turns that are in no block yet: in memory for searching, and one key each on disk for the next start. */
import { ByteReader, ByteWriter } from './bytes.ts';
import type { Turn } from './columns.ts';
import { IndexDamage } from './damage.ts';
import type { Place } from './places.ts';
import { PostingList } from './postings.ts';

/** A turn with all that a restart needs to index it again. */
export interface TailTurn extends Turn, Place {
  readonly terms: ReadonlyMap<string, number>;
  /** Packed; see `Meanings`. */
  readonly meaning: Uint8Array;
}

export class Tail {
  /** The number of the first turn here. */
  readonly first: number;
  readonly #places: Place[] = [];
  readonly #terms = new Map<string, PostingList>();

  constructor(first: number) {
    this.first = first;
  }

  get end(): number {
    return this.first + this.#places.length;
  }

  get terms(): Iterable<[string, PostingList]> {
    return this.#terms;
  }

  add(turn: Place & { readonly terms: ReadonlyMap<string, number> }): void {
    const number = this.end;
    const { record, locator, start, terms } = turn;
    this.#places.push({ record, locator, start });
    for (const [term, count] of terms) {
      let list = this.#terms.get(term);
      if (list === undefined) this.#terms.set(term, (list = new PostingList(2)));
      list.add(number, count);
    }
  }

  placeOf(turn: number): Place | undefined {
    return this.#places[turn - this.first];
  }

  postingsOf(term: string): PostingList | undefined {
    return this.#terms.get(term);
  }

  /** What remains after the turns below `end` are in a block. This tail stays as it is, for those who still read it. */
  from(end: number): Tail {
    const rest = new Tail(end);
    rest.#places.push(...this.#places.slice(end - this.first));
    for (const [term, list] of this.#terms) {
      const left = restOf(list, end);
      if (left !== undefined) rest.#terms.set(term, left);
    }
    return rest;
  }
}

function restOf(list: PostingList, end: number): PostingList | undefined {
  if (list.turns[list.length - 1]! < end) return undefined;
  const rest = new PostingList(2);
  for (let at = 0; at < list.length; at += 1) {
    if (list.turns[at]! >= end) rest.add(list.turns[at]!, list.counts[at]!);
  }
  return rest;
}

export function writeTailTurn(turn: TailTurn): Uint8Array {
  const bytes = new ByteWriter(256);
  bytes.varint(turn.session);
  bytes.varint(turn.flags);
  bytes.byte(turn.length);
  bytes.varint(turn.speaker);
  bytes.signed(turn.atMs);
  bytes.varint(turn.record);
  bytes.varint(turn.start);
  bytes.string(turn.locator);
  bytes.varint(turn.terms.size);
  for (const [term, count] of turn.terms) {
    bytes.string(term);
    bytes.byte(count);
  }
  bytes.varint(turn.meaning.length);
  bytes.bytes(turn.meaning);
  return bytes.take();
}

export function readTailTurn(value: Uint8Array): TailTurn {
  const bytes = new ByteReader(value);
  const turn = {
    session: bytes.varint(),
    flags: bytes.varint(),
    length: bytes.byte(),
    speaker: bytes.varint(),
    atMs: bytes.signed(),
    record: bytes.varint(),
    start: bytes.varint(),
    locator: bytes.string(),
  };
  const terms = new Map<string, number>();
  for (let left = bytes.varint(); left > 0; left -= 1) terms.set(bytes.string(), bytes.byte());
  const meaning = bytes.bytes(bytes.varint());
  if (!bytes.done) throw new IndexDamage('a turn goes on after its end');
  return { ...turn, terms, meaning };
}

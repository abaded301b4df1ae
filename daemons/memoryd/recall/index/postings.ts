/** Which turns hold a term, and how often: the lists that all ranking begins from. */
import { ByteWriter } from './bytes.ts';
import { IndexDamage } from './damage.ts';

/** Counts above this say nothing more. */
export const countMax = 255;

/** Turns in rising order with their counts. */
export class PostingList {
  turns: Uint32Array;
  counts: Uint8Array;
  length = 0;

  constructor(capacity = 16) {
    this.turns = new Uint32Array(capacity);
    this.counts = new Uint8Array(capacity);
  }

  add(turn: number, count: number): void {
    if (this.length === this.turns.length) this.#grow();
    this.turns[this.length] = turn;
    this.counts[this.length] = count;
    this.length += 1;
  }

  addAll(other: PostingList | undefined): void {
    const length = other?.length ?? 0;
    for (let at = 0; at < length; at += 1) this.add(other!.turns[at]!, other!.counts[at]!);
  }

  #grow(): void {
    const turns = new Uint32Array(this.length * 2);
    const counts = new Uint8Array(this.length * 2);
    turns.set(this.turns);
    counts.set(this.counts);
    this.turns = turns;
    this.counts = counts;
  }
}

/** Writes the turns of one segment, relative to its first turn: varint(gap * 2 + more than one), then the count if so. */
export class PostingWriter {
  readonly #bytes = new ByteWriter(64);
  #next: number;
  readonly #first: number;

  constructor(firstTurn: number) {
    this.#first = firstTurn;
    this.#next = firstTurn;
  }

  add(turn: number, count: number): void {
    this.#bytes.varint((turn - this.#next) * 2 + (count > 1 ? 1 : 0));
    if (count > 1) this.#bytes.byte(count);
    this.#next = turn + 1;
  }

  get isEmpty(): boolean {
    return this.#bytes.length === 0;
  }

  take(): Uint8Array {
    this.#next = this.#first;
    return this.#bytes.take();
  }
}

export interface TurnRange {
  readonly first: number;
  /** One after the last. */
  readonly end: number;
}

/** Appends the postings in `bytes` to the list. @throws IndexDamage where they lie outside the segment. */
export function readPostings(bytes: Uint8Array, { first, end }: TurnRange, into: PostingList): void {
  let turn = first;
  let at = 0;
  const { length } = bytes;
  while (at < length) {
    let byte = bytes[at++]!;
    let value = byte & 127;
    for (let shift = 7; byte > 127; shift += 7) {
      if (at >= length || shift > 28) throw new IndexDamage('postings end too early');
      byte = bytes[at++]!;
      value += (byte & 127) << shift;
    }
    turn += value >>> 1;
    let count = 1;
    if ((value & 1) === 1) {
      if (at >= length) throw new IndexDamage('postings end too early');
      count = bytes[at++]!;
    }
    if (turn >= end) throw new IndexDamage('postings lie outside their segment');
    into.add(turn, count);
    turn += 1;
  }
}

/**
 * What each turn is about, by averaged word vectors, in a few bytes: 3 bits for each dimension. Likeness of two texts is
 * the cosine of their vectors without the direction that all texts of this index have in common.
 */
import type { WordVectors } from '../analysis/word-vectors.ts';
import { IndexDamage } from './damage.ts';

/** Values from -3 to 3, stored as 1 to 7; eight of them in three bytes. All zeros is no vector. */
const levelMax = 3;
const bits = 3;
const perGroup = 8;
const groupBytes = 3;
/** A unit vector of 32 dimensions has values of about 0.18; three times that is the highest level. */
const levelsOfUnit = 5.4;

const capacityMin = 4_096;

export class Meanings {
  readonly #vectors: WordVectors;
  readonly #bytesOfTurn: number;
  #packed: Uint8Array;
  #count = 0;
  /** Of all turns below `#summed`: it is needed by queries, and would make opening slow. */
  readonly #sum: Float64Array;
  #summed = 0;

  constructor(vectors: WordVectors) {
    this.#vectors = vectors;
    this.#bytesOfTurn = (vectors.dimensions / perGroup) * groupBytes;
    this.#packed = new Uint8Array(capacityMin * this.#bytesOfTurn);
    this.#sum = new Float64Array(vectors.dimensions);
  }

  /** The vector of a text as it is stored; all zeros where none of its words is known. */
  pack(terms: ReadonlyMap<string, number>): Uint8Array {
    const vector = this.#textVector(terms);
    const packed = new Uint8Array(this.#bytesOfTurn);
    const length = vector === undefined ? 0 : Math.sqrt(dot(vector, vector));
    if (vector === undefined || length === 0) return packed;
    for (let group = 0; group * perGroup < vector.length; group += 1) {
      let word = 0;
      for (let at = 0; at < perGroup; at += 1) {
        const level = Math.round((vector[group * perGroup + at]! / length) * levelsOfUnit);
        word |= (Math.max(-levelMax, Math.min(levelMax, level)) + levelMax + 1) << (at * bits);
      }
      packed[group * groupBytes] = word & 255;
      packed[group * groupBytes + 1] = (word >>> 8) & 255;
      packed[group * groupBytes + 2] = word >>> 16;
    }
    return packed;
  }

  /** The next turn's. */
  add(packed: Uint8Array): void {
    if (packed.length !== this.#bytesOfTurn) throw new IndexDamage('a vector is of another length');
    const start = this.#count * this.#bytesOfTurn;
    if (start + packed.length > this.#packed.length) {
      const grown = new Uint8Array(this.#packed.length * 2);
      grown.set(this.#packed);
      this.#packed = grown;
    }
    this.#packed.set(packed, start);
    this.#count += 1;
  }

  kill(turn: number): void {
    if (turn < this.#summed) this.#sumUp(turn, -1);
    const start = turn * this.#bytesOfTurn;
    this.#packed.fill(0, start, start + this.#bytesOfTurn);
  }

  packedOf(turn: number): Uint8Array {
    return this.#packed.subarray(turn * this.#bytesOfTurn, (turn + 1) * this.#bytesOfTurn);
  }

  block(first: number, end: number): Uint8Array {
    return this.#packed.slice(first * this.#bytesOfTurn, end * this.#bytesOfTurn);
  }

  addBlock(value: Uint8Array, turns: number): void {
    if (value.length !== turns * this.#bytesOfTurn) throw new IndexDamage('a block of vectors is not whole');
    for (let turn = 0; turn < turns; turn += 1) {
      this.add(value.subarray(turn * this.#bytesOfTurn, (turn + 1) * this.#bytesOfTurn));
    }
  }

  /** @returns -1..1 for each turn asked about, 0 where nothing is known; undefined where the query has no vector. */
  likenessTo(terms: ReadonlyMap<string, number>): ((turn: number) => number) | undefined {
    const query = this.#textVector(terms);
    if (query === undefined) return undefined;
    for (; this.#summed < this.#count; this.#summed += 1) this.#sumUp(this.#summed, 1);
    const common = unit(Float64Array.from(this.#sum));
    if (common !== undefined) addTimes(query, common, -dot(query, common));
    const queryLength = Math.sqrt(dot(query, query));
    if (queryLength === 0) return undefined;
    return (turn) => {
      const vector = this.#unpack(turn);
      if (vector === undefined) return 0;
      const shared = common === undefined ? 0 : dot(vector, common);
      const length = Math.sqrt(Math.max(0, dot(vector, vector) - shared * shared));
      return length === 0 ? 0 : dot(vector, query) / (length * queryLength);
    };
  }

  #sumUp(turn: number, times: 1 | -1): void {
    const vector = this.#unpack(turn);
    if (vector !== undefined) addTimes(this.#sum, vector, times / Math.sqrt(dot(vector, vector)));
  }

  readonly #unpacked = new Float64Array(64);

  /** Shared by all calls; undefined for a turn without a vector. */
  #unpack(turn: number): Float64Array | undefined {
    const start = turn * this.#bytesOfTurn;
    const vector = this.#unpacked.subarray(0, this.#vectors.dimensions);
    let any = 0;
    for (let group = 0; group * perGroup < vector.length; group += 1) {
      const at = start + group * groupBytes;
      let word = this.#packed[at]! | (this.#packed[at + 1]! << 8) | (this.#packed[at + 2]! << 16);
      any |= word;
      for (let place = group * perGroup; place < (group + 1) * perGroup; place += 1) {
        vector[place] = (word & 7) - levelMax - 1;
        word >>>= bits;
      }
    }
    return any === 0 ? undefined : vector;
  }

  #textVector(terms: ReadonlyMap<string, number>): Float64Array | undefined {
    const sum = new Float64Array(this.#vectors.dimensions);
    let known = false;
    for (const [term, count] of terms) known = this.#vectors.addTo(sum, term, count) || known;
    return known ? sum : undefined;
  }
}

function unit(vector: Float64Array): Float64Array | undefined {
  const length = Math.sqrt(dot(vector, vector));
  if (length === 0) return undefined;
  for (let place = 0; place < vector.length; place += 1) vector[place]! /= length;
  return vector;
}

function addTimes(to: Float64Array, vector: Float64Array, times: number): void {
  for (let place = 0; place < to.length; place += 1) to[place]! += vector[place]! * times;
}

function dot(one: Float64Array, other: Float64Array): number {
  let sum = 0;
  for (let place = 0; place < one.length; place += 1) sum += one[place]! * other[place]!;
  return sum;
}

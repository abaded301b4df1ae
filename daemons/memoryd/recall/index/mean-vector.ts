/** The direction that the texts of this index have in common; what two texts share beyond it is what makes them alike. */
import type { WordVectors } from '../analysis/word-vectors.ts';

export class MeanVector {
  readonly #vectors: WordVectors;
  readonly #sum: Float64Array;

  constructor(vectors: WordVectors) {
    this.#vectors = vectors;
    this.#sum = new Float64Array(vectors.dimensions);
  }

  add(terms: ReadonlyMap<string, number>): void {
    const vector = textVector(this.#vectors, terms);
    if (vector === undefined) return;
    for (let place = 0; place < vector.length; place += 1) this.#sum[place]! += vector[place]!;
  }

  /** The vector of a text without the common direction, of length 1; undefined where no word of it is known. */
  vectorOf(terms: ReadonlyMap<string, number>): Float32Array | undefined {
    const vector = textVector(this.#vectors, terms);
    if (vector === undefined) return undefined;
    const common = dot(this.#sum, this.#sum);
    if (common > 0) {
      const share = dot(vector, this.#sum) / common;
      for (let place = 0; place < vector.length; place += 1) vector[place]! -= share * this.#sum[place]!;
    }
    return normalised(vector);
  }

  save(): Uint8Array {
    return new Uint8Array(this.#sum.slice().buffer);
  }

  load(value: Uint8Array | undefined): void {
    if (value === undefined || value.byteLength !== this.#sum.byteLength) return;
    this.#sum.set(new Float64Array(Uint8Array.from(value).buffer));
  }
}

function textVector(vectors: WordVectors, terms: ReadonlyMap<string, number>): Float32Array | undefined {
  const sum = new Float32Array(vectors.dimensions);
  for (const [term, count] of terms) vectors.addTo(sum, term, count);
  return normalised(sum);
}

function normalised(vector: Float32Array): Float32Array | undefined {
  const length = Math.sqrt(dot(vector, vector));
  if (length === 0) return undefined;
  for (let place = 0; place < vector.length; place += 1) vector[place]! /= length;
  return vector;
}

export function dot(one: Float32Array | Float64Array, other: Float32Array | Float64Array): number {
  let sum = 0;
  for (let place = 0; place < one.length; place += 1) sum += one[place]! * other[place]!;
  return sum;
}

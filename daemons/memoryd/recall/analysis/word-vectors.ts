/** What common English words mean, as far as their neighbours in texts tell: a vector for each, and its nearest words. */
import { readFile } from 'node:fs/promises';

/**
 * The file, written by scripts/assets/build-words.ts; numbers are little-endian:
 *
 *   'LKW1'  u32 words  u32 dimensions  u32 bytes of the list
 *   the words (stems), joined by line feeds, commonest first; then zeros up to a multiple of 4
 *   f32 a word: the scale of its vector      f32 a word: its share of all running words
 *   i8 a dimension, row by row               then for each word: u8 count, and count times u16 word, u8 cosine * 100
 */
export const wordsMagic = 'LKW1';
const headerBytes = 16;

/** Smooth inverse frequency: how fast common words lose weight (Arora and others, 2017). */
const commonness = 1e-3;

/** What a word's vector counts in the vector of a text. @param share of all running words. */
export function rarity(share: number): number {
  return commonness / (commonness + share);
}

export interface NearWord {
  readonly term: string;
  readonly cosine: number;
}

export class WordVectors {
  readonly dimensions: number;
  readonly #numbers: Map<string, number>;
  readonly #words: readonly string[];
  /** Scale of the vector times the weight of the word. */
  readonly #weights: Float32Array;
  readonly #rows: Int8Array;
  readonly #near: readonly Uint8Array[];

  static async load(path: string): Promise<WordVectors> {
    const bytes = await readFile(path);
    return new WordVectors(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  }

  constructor(file: ArrayBuffer) {
    const bytes = new Uint8Array(file);
    const view = new DataView(file);
    if (Buffer.from(bytes.subarray(0, wordsMagic.length)).toString() !== wordsMagic) {
      throw new Error('the file of word vectors is of another format');
    }
    const count = view.getUint32(4, true);
    this.dimensions = view.getUint32(8, true);
    const listBytes = view.getUint32(12, true);
    this.#words = Buffer.from(bytes.subarray(headerBytes, headerBytes + listBytes))
      .toString('utf8')
      .split('\n');
    this.#numbers = new Map(this.#words.map((word, number) => [word, number]));
    let at = headerBytes + Math.ceil(listBytes / 4) * 4;
    this.#weights = new Float32Array(count);
    for (let word = 0; word < count; word += 1) {
      const scale = view.getFloat32(at + word * 4, true);
      const share = view.getFloat32(at + (count + word) * 4, true);
      this.#weights[word] = scale * rarity(share);
    }
    at += count * 8;
    this.#rows = new Int8Array(file, at, count * this.dimensions);
    at += count * this.dimensions;
    this.#near = Array.from({ length: count }, () => {
      const entries = bytes.subarray(at + 1, at + 1 + bytes[at]! * 3);
      at += 1 + entries.length;
      return entries;
    });
  }

  /** The nearest words, nearest first. */
  near(term: string): NearWord[] {
    const number = this.#numbers.get(term);
    const entries = number === undefined ? undefined : this.#near[number];
    if (entries === undefined) return [];
    const near: NearWord[] = [];
    for (let at = 0; at < entries.length; at += 3) {
      const word = entries[at]! + entries[at + 1]! * 256;
      near.push({ term: this.#words[word]!, cosine: entries[at + 2]! / 100 });
    }
    return near;
  }

  /** Adds the weighted vector of a term. @returns whether there is one. */
  addTo(sum: Float64Array, term: string, times: number): boolean {
    const number = this.#numbers.get(term);
    if (number === undefined) return false;
    const weight = this.#weights[number]! * times;
    const from = number * this.dimensions;
    for (let place = 0; place < this.dimensions; place += 1)
      sum[place]! += this.#rows[from + place]! * weight;
    return true;
  }
}

/** What common English words mean, as far as their neighbours in texts tell: a vector for each, and its nearest words. */
import { readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';

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

/** The vectors take several MB in memory, which a device that only writes, or rests, need not spend: they are read at the first use. */
export class WordVectors {
  readonly dimensions: number;
  readonly #path: string;
  readonly #header: Buffer;
  #loaded: Words | undefined;

  /** @throws Error where the file is not there, or of another format */
  static async load(path: string): Promise<WordVectors> {
    const file = await open(path, 'r');
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(headerBytes), 0, headerBytes, 0);
      return new WordVectors(path, buffer.subarray(0, bytesRead));
    } finally {
      await file.close();
    }
  }

  private constructor(path: string, header: Buffer) {
    if (header.length < headerBytes || header.toString('latin1', 0, wordsMagic.length) !== wordsMagic) {
      throw new Error('the file of word vectors is of another format');
    }
    this.#path = path;
    this.#header = header;
    this.dimensions = header.readUInt32LE(8);
  }

  get #words(): Words {
    if (this.#loaded === undefined) {
      const bytes = readFileSync(this.#path);
      if (!bytes.subarray(0, headerBytes).equals(this.#header)) {
        throw new Error('the file of word vectors was exchanged while it was in use');
      }
      this.#loaded = new Words(bytes);
    }
    return this.#loaded;
  }

  /** The nearest words, nearest first. */
  near(term: string): NearWord[] {
    return this.#words.near(term);
  }

  /** Adds the weighted vector of a term. @returns whether there is one. */
  addTo(sum: Float64Array, term: string, times: number): boolean {
    return this.#words.addTo(sum, term, times);
  }
}

/** The file in memory. */
class Words {
  readonly #numbers: ReadonlyMap<string, number>;
  readonly #dimensions: number;
  readonly #words: readonly string[];
  /** Scale of the vector times the weight of the word. */
  readonly #weights: Float32Array;
  readonly #bytes: Buffer;
  readonly #rows: Int8Array;
  /** Where the near words of each are in the file. */
  readonly #nearAt: Uint32Array;

  constructor(bytes: Buffer) {
    const count = bytes.readUInt32LE(4);
    this.#dimensions = bytes.readUInt32LE(8);
    const listBytes = bytes.readUInt32LE(12);
    this.#words = bytes.toString('utf8', headerBytes, headerBytes + listBytes).split('\n');
    this.#numbers = new Map(this.#words.map((word, number) => [word, number]));
    let at = headerBytes + Math.ceil(listBytes / 4) * 4;
    this.#weights = new Float32Array(count);
    for (let word = 0; word < count; word += 1) {
      const scale = bytes.readFloatLE(at + word * 4);
      const share = bytes.readFloatLE(at + (count + word) * 4);
      this.#weights[word] = scale * rarity(share);
    }
    at += count * 8;
    this.#bytes = bytes;
    this.#rows = new Int8Array(bytes.buffer, bytes.byteOffset + at, count * this.#dimensions);
    at += count * this.#dimensions;
    this.#nearAt = new Uint32Array(count);
    for (let word = 0; word < count; word += 1) {
      this.#nearAt[word] = at;
      at += 1 + bytes[at]! * 3;
    }
  }

  near(term: string): NearWord[] {
    const number = this.#numbers.get(term);
    const from = number === undefined ? undefined : this.#nearAt[number];
    if (from === undefined) return [];
    const near: NearWord[] = [];
    const end = from + 1 + this.#bytes[from]! * 3;
    for (let at = from + 1; at < end; at += 3) {
      const word = this.#bytes.readUInt16LE(at);
      near.push({ term: this.#words[word]!, cosine: this.#bytes[at + 2]! / 100 });
    }
    return near;
  }

  addTo(sum: Float64Array, term: string, times: number): boolean {
    const number = this.#numbers.get(term);
    if (number === undefined) return false;
    const weight = this.#weights[number]! * times;
    const from = number * this.#dimensions;
    for (let place = 0; place < this.#dimensions; place += 1)
      sum[place]! += this.#rows[from + place]! * weight;
    return true;
  }
}

/** Random numbers that a failed test can repeat: the seed is printed, and taken from SEED. */

export class SeededRandom {
  readonly seed: number;
  #state: number;

  constructor(seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 32))) {
    this.seed = seed;
    this.#state = seed >>> 0;
    console.log(`SEED=${seed}`);
  }

  /** An integer from 0 to below `limit` (mulberry32). */
  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit);
  }

  bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => this.below(256)));
  }
}

/** Reads LevelDB's variable-length numbers and length-prefixed strings, and never past the end. */

/** A variable-length number has ten bytes at most (64 bits). */
const varintBytesMax = 10;

export class ByteReader {
  readonly #bytes: Buffer;
  #at: number;

  constructor(bytes: Buffer, at = 0) {
    this.#bytes = bytes;
    this.#at = at;
  }

  get at(): number {
    return this.#at;
  }

  get isDone(): boolean {
    return this.#at >= this.#bytes.length;
  }

  varint(): number {
    let value = 0;
    let factor = 1;
    for (let count = 0; count < varintBytesMax; count += 1) {
      const byte = this.#bytes[this.#at];
      if (byte === undefined) throw new RangeError('number runs past the end');
      this.#at += 1;
      value += (byte & 127) * factor;
      if (byte < 128) return value;
      factor *= 128;
    }
    throw new RangeError('number of more than ten bytes');
  }

  bytes(length: number): Buffer {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new RangeError('bytes run past the end');
    const found = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return found;
  }

  prefixed(): Buffer {
    return this.bytes(this.varint());
  }
}

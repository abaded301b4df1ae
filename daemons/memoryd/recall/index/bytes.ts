/** Numbers and strings packed into bytes; a reader refuses what a writer never wrote. */
import { IndexDamage } from './damage.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const varintBytesMax = 8;
/** A length up to this is one byte. */
const shortMax = 127;

export class ByteWriter {
  #bytes: Uint8Array;
  #length = 0;

  constructor(capacity = 256) {
    this.#bytes = new Uint8Array(capacity);
  }

  get length(): number {
    return this.#length;
  }

  /** @param value a whole number from 0 to Number.MAX_SAFE_INTEGER. */
  varint(value: number): void {
    this.#need(varintBytesMax);
    let rest = value;
    while (rest > 0x7fffffff) {
      this.#bytes[this.#length++] = (rest % 128) | 128;
      rest = Math.floor(rest / 128);
    }
    while (rest > 127) {
      this.#bytes[this.#length++] = (rest & 127) | 128;
      rest >>>= 7;
    }
    this.#bytes[this.#length++] = rest;
  }

  /** Small numbers of either sign stay small. */
  signed(value: number): void {
    this.varint(value < 0 ? -value * 2 - 1 : value * 2);
  }

  byte(value: number): void {
    this.#need(1);
    this.#bytes[this.#length++] = value;
  }

  bytes(value: Uint8Array): void {
    this.#need(value.length);
    this.#bytes.set(value, this.#length);
    this.#length += value.length;
  }

  string(value: string): void {
    if (this.#shortAscii(value)) return;
    const bytes = encoder.encode(value);
    this.varint(bytes.length);
    this.bytes(bytes);
  }

  /** Nearly every term: written in place, where an encoder would make an array for each. @returns whether it was one */
  #shortAscii(value: string): boolean {
    const { length } = value;
    if (length > shortMax) return false;
    this.#need(length + 1);
    const at = this.#length + 1;
    for (let index = 0; index < length; index += 1) {
      const code = value.charCodeAt(index);
      if (code > 127) return false;
      this.#bytes[at + index] = code;
    }
    this.#bytes[this.#length] = length;
    this.#length = at + length;
    return true;
  }

  /** A copy of what was written; the writer starts anew. */
  take(): Uint8Array {
    const taken = this.#bytes.slice(0, this.#length);
    this.#length = 0;
    return taken;
  }

  #need(count: number): void {
    const needed = this.#length + count;
    if (needed <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
  }
}

export class ByteReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get done(): boolean {
    return this.#at >= this.#bytes.length;
  }

  varint(): number {
    let value = 0;
    let factor = 1;
    for (let count = 0; count < varintBytesMax; count += 1) {
      const byte = this.byte();
      value += (byte & 127) * factor;
      if (byte < 128) return value;
      factor *= 128;
    }
    throw new IndexDamage('a number does not end');
  }

  signed(): number {
    const value = this.varint();
    return value % 2 === 1 ? -(value + 1) / 2 : value / 2;
  }

  byte(): number {
    const value = this.#bytes[this.#at];
    if (value === undefined) throw new IndexDamage('a value ends too early');
    this.#at += 1;
    return value;
  }

  bytes(count: number): Uint8Array {
    const end = this.#at + count;
    if (end > this.#bytes.length) throw new IndexDamage('a value ends too early');
    const taken = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }

  string(): string {
    try {
      return decoder.decode(this.bytes(this.varint()));
    } catch (error) {
      if (error instanceof IndexDamage) throw error;
      throw new IndexDamage('a string is not UTF-8');
    }
  }
}

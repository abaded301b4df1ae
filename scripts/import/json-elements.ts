/** Splits a stream of JSON into its elements: those of a top-level array, or each top-level value (JSON Lines). */
import { AppError } from '../../shared/errors.ts';

/** One conversation of an export; over it the file is refused, because a string could not hold it. */
export const elementBytesMax = 256 * 1024 * 1024;

const code = (character: string) => character.charCodeAt(0);
const quote = code('"');
const backslash = code('\\');
const comma = code(',');
const [openBrace, closeBrace] = [code('{'), code('}')];
const [openBracket, closeBracket] = [code('['), code(']')];

type Chunks = AsyncIterable<Uint8Array | string>;

/** @throws AppError rejected where an element does not parse, naming its number from 1 */
export async function* jsonElements(source: Chunks): AsyncGenerator<unknown, void, undefined> {
  const splitter = new ElementSplitter();
  let number = 0;
  for await (const chunk of source) {
    for (const text of splitter.push(bytesOf(chunk))) {
      number += 1;
      yield parse(text, number);
    }
  }
  const rest = splitter.end();
  if (rest !== '') yield parse(rest, number + 1);
}

function bytesOf(chunk: Uint8Array | string): Buffer {
  if (typeof chunk === 'string') return Buffer.from(chunk);
  return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
}

function parse(text: string, number: number): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new AppError('rejected', `element ${number} is not JSON: ${text.trim().slice(0, 80)}`, { cause });
  }
}

/** White space, and the three bytes of a byte order mark. */
const isBlank = (byte: number) =>
  byte === 0x20 || (byte >= 0x09 && byte <= 0x0d) || byte === 0xef || byte === 0xbb || byte === 0xbf;

class ElementSplitter {
  #parts: Buffer[] = [];
  #partsBytes = 0;
  #depth = 0;
  /** Depth at which elements lie: 1 inside a top-level array. */
  #base = 0;
  #isInString = false;
  #isEscaped = false;
  #isFirst = true;

  push(chunk: Buffer): string[] {
    const elements: string[] = [];
    let start = 0;
    const cut = (end: number) => {
      const text = this.#take(chunk.subarray(start, end));
      if (text !== '') elements.push(text);
    };
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at] ?? 0;
      if (this.#isInString) this.#inString(byte);
      else if (byte === quote) this.#isInString = true;
      else if (this.#isFirst && !isBlank(byte)) {
        this.#isFirst = false;
        if (byte === openBracket) {
          this.#base = 1;
          start = at + 1;
        }
        if (byte === openBracket || byte === openBrace) this.#depth = 1;
      } else if (byte === openBrace || byte === openBracket) this.#depth += 1;
      else if (byte === closeBrace || byte === closeBracket) {
        this.#depth -= 1;
        if (this.#depth === this.#base && byte === closeBrace) {
          cut(at + 1);
          start = at + 1;
        } else if (this.#depth < this.#base) {
          cut(at);
          start = at + 1;
          this.#base = 0;
        }
      } else if (byte === comma && this.#depth === this.#base) {
        cut(at);
        start = at + 1;
      }
    }
    this.#keep(chunk.subarray(start));
    return elements;
  }

  /** What is left: an element that was not closed, which will not parse and so is named. */
  end(): string {
    return this.#take(Buffer.alloc(0));
  }

  #inString(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === backslash) this.#isEscaped = true;
    else if (byte === quote) this.#isInString = false;
  }

  #keep(rest: Buffer): void {
    this.#partsBytes += rest.length;
    if (this.#partsBytes > elementBytesMax)
      throw new AppError('rejected', `an element is over ${elementBytesMax} bytes`);
    if (rest.length > 0) this.#parts.push(Buffer.from(rest));
  }

  #take(last: Buffer): string {
    const text = Buffer.concat([...this.#parts, last]).toString('utf8');
    this.#parts = [];
    this.#partsBytes = 0;
    // A byte order mark counts as white space here.
    return text.trim();
  }
}

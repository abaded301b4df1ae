/** Frames and lines: bytes in, whole lines of text out. A line ends at byte 0x0A and nowhere else. No sockets here. */
import { isUtf8 } from 'node:buffer';

const lineFeed = 0x0a;
const carriageReturn = '\r';

/** A whole line; undefined where its bytes are not UTF-8. */
export type Line = string | undefined;

/** Splits a byte stream into lines. Cost is linear in the bytes, whatever the chunks; at most one line is held. */
export class LineSplitter {
  readonly #bytesMax: number;
  #tail: Buffer[] = [];
  #tailBytes = 0;
  #isOver = false;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** A line was over the limit; nothing after it is taken. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** The lines that this chunk completes, up to one that is over the limit. */
  push(chunk: Buffer): Line[] {
    if (this.#isOver) return [];
    const last = chunk.lastIndexOf(lineFeed);
    if (last === -1) {
      this.#hold(chunk);
      return [];
    }
    const first = this.#tailBytes === 0 ? -1 : chunk.indexOf(lineFeed);
    const lines: Line[] = [];
    if (first !== -1) {
      this.#hold(chunk.subarray(0, first));
      lines.push(...this.end());
    }
    if (!this.#isOver) {
      for (const line of linesOf(chunk.subarray(first + 1, last + 1))) {
        // Code units are at most bytes, so this never refuses what fits.
        this.#isOver = line !== undefined && line.length > this.#bytesMax;
        if (this.#isOver) break;
        lines.push(line);
      }
    }
    if (!this.#isOver) this.#hold(chunk.subarray(last + 1));
    return lines;
  }

  /** What stands after the last line feed, as the line that the end of the stream completes. */
  end(): Line[] {
    if (this.#tailBytes === 0) return [];
    const bytes = this.#tail.length === 1 ? (this.#tail[0] ?? Buffer.alloc(0)) : Buffer.concat(this.#tail);
    this.#tail = [];
    this.#tailBytes = 0;
    return [textOf(bytes)].filter((line) => line !== '');
  }

  #hold(bytes: Buffer): void {
    this.#tailBytes += bytes.length;
    if (this.#tailBytes > this.#bytesMax) {
      this.#isOver = true;
      this.#tail = [];
      this.#tailBytes = 0;
    } else if (bytes.length > 0) {
      // A copy: the rest of the chunk it was cut from would otherwise stay in memory.
      this.#tail.push(Buffer.from(bytes));
    }
  }
}

/** Lines of a region that ends with a line feed; empty ones are dropped. */
function linesOf(region: Buffer): Line[] {
  if (region.length === 0) return [];
  if (isUtf8(region)) {
    const lines = region.toString('utf8', 0, region.length - 1).split('\n');
    for (let at = 0; at < lines.length; at += 1) lines[at] = withoutReturn(lines[at] ?? '');
    return lines.includes('') ? lines.filter((line) => line !== '') : lines;
  }
  const lines: Line[] = [];
  let start = 0;
  for (let end = region.indexOf(lineFeed); end !== -1; end = region.indexOf(lineFeed, start)) {
    const line = textOf(region.subarray(start, end));
    if (line !== '') lines.push(line);
    start = end + 1;
  }
  return lines;
}

function textOf(bytes: Buffer): Line {
  return isUtf8(bytes) ? withoutReturn(bytes.toString('utf8')) : undefined;
}

function withoutReturn(line: string): string {
  return line.endsWith(carriageReturn) ? line.slice(0, -1) : line;
}

const quote = 0x22;
const backslash = 0x5c;

/** Whether brackets nest deeper than `max`, found without parsing (a parser would recurse). */
export function isDeeperThan(json: string, max: number): boolean {
  if (json.length <= max || !hasMoreOpenings(json, max)) return false;
  let depth = 0;
  let isText = false;
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (isText) {
      if (code === backslash) at += 1;
      else if (code === quote) isText = false;
    } else if (code === quote) isText = true;
    else if (code === 0x7b || code === 0x5b) {
      depth += 1;
      if (depth > max) return true;
    } else if (code === 0x7d || code === 0x5d) depth -= 1;
  }
  return false;
}

/** Nearly every line has so few opening brackets that none of it can be too deep; to count them is cheap. */
function hasMoreOpenings(json: string, max: number): boolean {
  let count = 0;
  for (const opening of ['{', '[']) {
    for (let at = json.indexOf(opening); at !== -1; at = json.indexOf(opening, at + 1)) {
      count += 1;
      if (count > max) return true;
    }
  }
  return false;
}

/**
 * The line with null for all that lies below its first level: who asked can be read from it where the whole is too
 * deep to be parsed. Not JSON where brackets stay open.
 */
export function topLevelOf(json: string): string {
  let flat = '';
  let kept = 0;
  let depth = 0;
  let isText = false;
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (isText) {
      if (code === backslash) at += 1;
      else if (code === quote) isText = false;
    } else if (code === quote) isText = true;
    else if (code === 0x7b || code === 0x5b) {
      depth += 1;
      if (depth === 2) flat += json.slice(kept, at);
    } else if (code === 0x7d || code === 0x5d) {
      if (depth === 2) {
        flat += 'null';
        kept = at + 1;
      }
      depth -= 1;
    }
  }
  return depth === 0 ? flat + json.slice(kept) : '';
}

/** An escape such as \ud800 can leave a lone surrogate, which no UTF-8 can carry on. */
const surrogateEscape = /\\u[dD][89a-fA-F]/;

/** Parses one line; lone surrogates become U+FFFD. @throws SyntaxError */
export function parseLine(line: string): unknown {
  const value: unknown = JSON.parse(line);
  return surrogateEscape.test(line) ? wellFormed(value) : value;
}

function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (typeof value !== 'object' || value === null) return value;
  // fromEntries defines members, so that a key such as __proto__ stays data.
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key.toWellFormed(), wellFormed(member)]),
  );
}

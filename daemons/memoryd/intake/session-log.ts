/** One session log as bytes: whole lines from an offset on, and marks by which the same log is known again. */
import { closeSync, constants, fstatSync, openSync, read as readFile, readSync } from 'node:fs';
import { promisify } from 'node:util';
import { digestOf } from './digest.ts';

const readAside = promisify(readFile);

/** One read of the file; what is in memory of a log at once, besides one line that is longer. */
const chunkBytesMax = 128 * 1024;
/** Counting does little with each byte, and each read waits for whatever else is being done. */
const countedBytesMax = 4 * 1024 * 1024;
/**
 * So much is read in place: it was just written and lies in memory, and a hop to the thread pool and back would take
 * ten times as long. More may come from a slow disk, for which nobody else should wait.
 */
const bytesInPlaceMax = 64 * 1024;
/** A pipe that somebody laid there must not hold up everything until a writer comes. */
const readInPlace = constants.O_RDONLY | constants.O_NONBLOCK;
const headBytesMax = 1024;
const tailBytesMax = 256;
const lineEnd = 0x0a;

/**
 * How far a log was read, and how to tell whether a file is still that log. Names, sizes and inodes are no identity:
 * an inode is reused at once after a delete, and a log may be cut and grow again past the offset.
 */
export interface LogMark {
  /** Just after a line end. */
  readonly offset: number;
  readonly dev: number;
  readonly ino: number;
  readonly size: number;
  readonly modifiedMs: number;
  /** Digest of the first bytes, up to the offset or as many as are looked at. */
  readonly head: string;
  /** Digest of the last bytes before the offset. */
  readonly tail: string;
}

export interface LogLine {
  readonly offset: number;
  /** Without its line end. Valid until the next batch is asked for. */
  readonly bytes: Buffer;
}

export interface LineBatch {
  readonly lines: readonly LogLine[];
  /** Just after the last whole line of this batch. */
  readonly end: number;
  /** Lines left out because they are longer than the limit. */
  readonly oversized: number;
  /** The file is read to the end that it had when it was opened. */
  readonly isLast: boolean;
}

/** What `stat` says of a file, as far as a mark keeps it. */
export interface FileFacts {
  readonly dev: number;
  readonly ino: number;
  readonly size: number;
  readonly mtimeMs: number;
}

/** Whether nothing can have happened to the file since the mark was made, so that it need not be opened. */
export function isUntouched(mark: LogMark, file: FileFacts): boolean {
  return (
    mark.dev === file.dev &&
    mark.ino === file.ino &&
    mark.size === file.size &&
    mark.modifiedMs === file.mtimeMs
  );
}

export class SessionLog {
  readonly #file: number;
  readonly #facts: FileFacts;
  readonly #lineBytesMax: number;

  private constructor(file: number, facts: FileFacts, lineBytesMax: number) {
    this.#file = file;
    this.#facts = facts;
    this.#lineBytesMax = lineBytesMax;
  }

  /** To be closed. @returns undefined where there is no such file, or something else that is no file. */
  static open(path: string, lineBytesMax: number): SessionLog | undefined {
    let file: number;
    try {
      file = openSync(path, readInPlace);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
    const facts = fstatSync(file);
    if (facts.isFile()) return new SessionLog(file, facts, lineBytesMax);
    closeSync(file);
    return undefined;
  }

  get facts(): FileFacts {
    return this.#facts;
  }

  /** Bytes of the file when it was opened; nothing beyond them is read. */
  get size(): number {
    return this.#facts.size;
  }

  /** Whole lines from `from` on, a batch a chunk. The rest after the last line end is left for later. */
  async *lines(from: number): AsyncGenerator<LineBatch, void, undefined> {
    const splitter = new LineSplitter(from, this.#lineBytesMax);
    const chunk = Buffer.allocUnsafe(Math.min(chunkBytesMax, Math.max(this.size - from, 1)));
    for (let position = from; position < this.size;) {
      const read = await this.#read(chunk, position);
      if (read === 0) return;
      const batch = splitter.push(chunk.subarray(0, read));
      position += read;
      if (batch !== undefined) yield { ...batch, isLast: position >= this.size };
    }
  }

  /** How many whole lines there are from `from` on, empty ones included. */
  async countLines(from: number): Promise<number> {
    const chunk = Buffer.allocUnsafe(Math.min(countedBytesMax, Math.max(this.size - from, 1)));
    let count = 0;
    for (let position = from; position < this.size;) {
      const read = await this.#read(chunk, position);
      if (read === 0) break;
      const bytes = chunk.subarray(0, read);
      for (let at = bytes.indexOf(lineEnd); at !== -1; at = bytes.indexOf(lineEnd, at + 1)) count += 1;
      position += read;
    }
    return count;
  }

  markAt(offset: number): LogMark {
    return {
      offset,
      dev: this.#facts.dev,
      ino: this.#facts.ino,
      size: this.#facts.size,
      modifiedMs: this.#facts.mtimeMs,
      ...this.#samplesAt(offset),
    };
  }

  /** Whether this file still begins as it did and still holds what lay before the offset; it may have moved. */
  continues(mark: LogMark): boolean {
    if (this.size < mark.offset) return false;
    const { head, tail } = this.#samplesAt(mark.offset);
    return head === mark.head && tail === mark.tail;
  }

  close(): void {
    closeSync(this.#file);
  }

  #samplesAt(offset: number): Pick<LogMark, 'head' | 'tail'> {
    const tailBytes = Math.min(offset, tailBytesMax);
    return {
      head: this.#sample(0, Math.min(offset, headBytesMax)),
      tail: this.#sample(offset - tailBytes, tailBytes),
    };
  }

  #sample(position: number, bytes: number): string {
    const buffer = Buffer.alloc(bytes);
    let filled = 0;
    while (filled < bytes) {
      const read = readSync(this.#file, buffer, filled, bytes - filled, position + filled);
      if (read === 0) break;
      filled += read;
    }
    return digestOf(buffer.subarray(0, filled));
  }

  async #read(chunk: Buffer, position: number): Promise<number> {
    const wanted = Math.min(chunk.length, this.size - position);
    if (wanted <= bytesInPlaceMax) return readSync(this.#file, chunk, 0, wanted, position);
    const { bytesRead } = await readAside(this.#file, chunk, 0, wanted, position);
    return bytesRead;
  }
}

/** Cuts chunks at 0x0A and nowhere else: U+2028 and its kin are text. */
class LineSplitter {
  readonly #lineBytesMax: number;
  /** Of a line that began in an earlier chunk; copies, because the chunk is filled anew. */
  #parts: Buffer[] = [];
  #partsBytes = 0;
  #isOversized = false;
  #lineOffset: number;

  constructor(offset: number, lineBytesMax: number) {
    this.#lineOffset = offset;
    this.#lineBytesMax = lineBytesMax;
  }

  /** @returns undefined while the chunk ended no line. */
  push(chunk: Buffer): Omit<LineBatch, 'isLast'> | undefined {
    const lines: LogLine[] = [];
    let oversized = 0;
    let start = 0;
    for (let at = chunk.indexOf(lineEnd); at !== -1; at = chunk.indexOf(lineEnd, start)) {
      const length = this.#partsBytes + at - start;
      if (this.#isOversized || length > this.#lineBytesMax) oversized += 1;
      else if (length > 0)
        lines.push({ offset: this.#lineOffset, bytes: this.#whole(chunk.subarray(start, at)) });
      this.#lineOffset += length + 1;
      this.#restart();
      start = at + 1;
    }
    this.#keep(chunk.subarray(start));
    return start === 0 ? undefined : { lines, end: this.#lineOffset, oversized };
  }

  #whole(last: Buffer): Buffer {
    return this.#parts.length === 0 ? last : Buffer.concat([...this.#parts, last]);
  }

  #keep(rest: Buffer): void {
    this.#partsBytes += rest.length;
    if (this.#partsBytes > this.#lineBytesMax) {
      this.#isOversized = true;
      this.#parts = [];
    } else if (rest.length > 0) this.#parts.push(Buffer.from(rest));
  }

  #restart(): void {
    this.#parts = [];
    this.#partsBytes = 0;
    this.#isOversized = false;
  }
}

/** The log of one session: created whole, appended a line at a time, mended at its end when opened, never rewritten here. */
import { constants } from 'node:fs';
import { open, rename, rm, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AppError, type ErrorCode } from '../../../shared/errors.ts';
import type { SessionBody, SessionRecord } from '../../../shared/protocol/sessions.ts';
import { decodeRecord, encodeRecord, recordBytesMax } from './record-line.ts';
import { scanLines, type ScannedLine } from './scan-lines.ts';

export interface LogOptions {
  /** 0600, or 0640 where memoryd reads as another user; kept whatever the umask is. */
  readonly mode?: number;
  readonly nowMs?: () => number;
  /** A test passes a file that fails. */
  readonly openFile?: typeof open;
}

/** A record as an import or a rewrite gives it; without `at` it is now. */
export interface DatedBody {
  readonly body: SessionBody;
  readonly at?: string;
}

/** What opening had to do to the end of the log. */
export interface Mended {
  readonly cutBytes: number;
  readonly isNewlineAdded: boolean;
}

export const temporarySuffix = '.tmp';
export const defaultMode = 0o600;
const { O_APPEND, O_CREAT, O_RDWR, O_TRUNC } = constants;

export class SessionLog {
  readonly path: string;
  /** undefined where the log ended as it should. */
  readonly mended: Mended | undefined;
  readonly #file: FileHandle;
  readonly #nowMs: () => number;
  #nextSeq: number;
  /** Bytes of whole records; anything after them was left by a failed write. */
  #size: number;
  #mayHaveTail = false;
  #lastAppend: Promise<unknown> = Promise.resolve();

  private constructor(
    path: string,
    file: FileHandle,
    state: { nextSeq: number; size: number; mended: Mended | undefined; nowMs: () => number },
  ) {
    this.path = path;
    this.#file = file;
    this.#nextSeq = state.nextSeq;
    this.#size = state.size;
    this.#nowMs = state.nowMs;
    this.mended = state.mended;
  }

  /**
   * Writes a new log with its first records; it is there whole or not at all, and takes the place of an older one.
   * @throws AppError session-write-failed, store-full
   */
  static async create(
    path: string,
    records: Iterable<DatedBody> | AsyncIterable<DatedBody>,
    { onRecord, ...options }: LogOptions & { onRecord?: (record: SessionRecord) => void } = {},
  ): Promise<SessionLog> {
    const { mode = defaultMode, nowMs = Date.now, openFile = open } = options;
    const temporary = path + temporarySuffix;
    let file: FileHandle | undefined;
    try {
      file = await openFile(temporary, O_RDWR | O_APPEND | O_CREAT | O_TRUNC, mode);
      await file.chmod(mode);
      let seq = 0;
      let size = 0;
      for await (const { body, at } of records) {
        const { line, record } = encodeRecord(body, { seq, at: at ?? new Date(nowMs()).toISOString() });
        await writeWhole(file, line);
        onRecord?.(record);
        seq += 1;
        size += line.length;
      }
      await file.sync();
      await rename(temporary, path);
      await syncDirectory(dirname(path));
      return new SessionLog(path, file, { nextSeq: seq, size, mended: undefined, nowMs });
    } catch (error) {
      await file?.close().catch(() => undefined);
      await rm(temporary, { force: true }).catch(() => undefined);
      throw writeError(error, `create ${path}`);
    }
  }

  /**
   * Reads the whole log once, checks every line and mends its end.
   * @throws AppError session-unknown, session-damaged (the file is left as it is), session-write-failed
   */
  static async open(
    path: string,
    { onRecord, ...options }: LogOptions & { onRecord?: (record: SessionRecord) => void } = {},
  ): Promise<SessionLog> {
    const { nowMs = Date.now, openFile = open } = options;
    let file: FileHandle;
    try {
      file = await openFile(path, O_RDWR | O_APPEND);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT')
        throw new AppError('session-unknown', `no session log ${path}`);
      throw writeError(error, `open ${path}`);
    }
    try {
      const found = await readWhole(file, path, onRecord);
      const mended = await mend(file, found, path);
      return new SessionLog(path, file, { nextSeq: found.records, size: found.size, mended, nowMs });
    } catch (error) {
      await file.close().catch(() => undefined);
      throw error;
    }
  }

  /** The `seq` that the next record gets. */
  get nextSeq(): number {
    return this.#nextSeq;
  }

  get bytes(): number {
    return this.#size;
  }

  /**
   * Adds a record; when it resolves the record is in the file, with `sync` on the disk.
   * A failure leaves the log as it was before, at the latest before the next append.
   * @throws AppError session-write-failed, store-full, message-too-large
   */
  append(body: SessionBody, { sync }: { sync: boolean }): Promise<SessionRecord> {
    const appended = this.#lastAppend.then(() => this.#append(body, sync));
    this.#lastAppend = appended.catch(() => undefined);
    return appended;
  }

  /** The records in order, read from the file again; what is appended meanwhile is left out. */
  async *records(): AsyncGenerator<SessionRecord> {
    await this.#lastAppend;
    let seq = 0;
    for await (const lines of scanLines(this.#file, { to: this.#size, lineBytesMax: recordBytesMax })) {
      for (const line of lines) {
        const record = line.isTooLong ? { wrong: 'too long' } : decodeRecord(line.bytes, seq);
        if ('wrong' in record) throw damaged(this.path, line, { seq, wrong: record.wrong });
        yield record;
        seq += 1;
      }
    }
  }

  /** Waits for what was appended. */
  async close(): Promise<void> {
    await this.#lastAppend;
    await this.#file.close();
  }

  async #append(body: SessionBody, sync: boolean): Promise<SessionRecord> {
    const at = new Date(this.#nowMs()).toISOString();
    const { line, record } = encodeRecord(body, { seq: this.#nextSeq, at });
    try {
      await this.#cutTail();
      this.#mayHaveTail = true;
      await writeWhole(this.#file, line);
      if (sync) await this.#file.datasync();
      this.#mayHaveTail = false;
    } catch (error) {
      // If this fails too, the next append tries again before it writes.
      await this.#cutTail().catch(() => undefined);
      throw writeError(error, `append a ${body.type} record to ${this.path}`);
    }
    this.#size += line.length;
    this.#nextSeq += 1;
    return record;
  }

  async #cutTail(): Promise<void> {
    if (!this.#mayHaveTail) return;
    await this.#file.truncate(this.#size);
    this.#mayHaveTail = false;
  }
}

interface Found {
  records: number;
  /** Bytes of whole records, the newline that is missing from the last one included. */
  size: number;
  fileBytes: number;
  lacksNewline: boolean;
}

async function readWhole(
  file: FileHandle,
  path: string,
  onRecord?: (record: SessionRecord) => void,
): Promise<Found> {
  const { size: fileBytes } = await file.stat();
  const found: Found = { records: 0, size: 0, fileBytes, lacksNewline: false };
  for await (const lines of scanLines(file, { to: fileBytes, lineBytesMax: recordBytesMax })) {
    for (const line of lines) {
      const record = line.isTooLong ? { wrong: 'too long' } : decodeRecord(line.bytes, found.records);
      if ('wrong' in record) {
        if (found.records > 0 && isTornTail(line, fileBytes)) return found;
        throw damaged(path, line, { seq: found.records, wrong: record.wrong });
      }
      if (found.records === 0 && record.type !== 'session')
        throw damaged(path, line, { seq: 0, wrong: 'the first record is not of type session' });
      onRecord?.(record);
      found.records += 1;
      found.size = line.offset + line.bytes.length + 1;
      found.lacksNewline = !line.hasNewline;
    }
  }
  if (found.records === 0) throw new AppError('session-damaged', `${path} is empty`, { details: { path } });
  return found;
}

/** Only what a crash can leave: a line that was not ended, or a last one in which a block was never written. */
function isTornTail(line: ScannedLine, fileBytes: number): boolean {
  if (!line.hasNewline) return true;
  return line.offset + line.length === fileBytes && line.bytes.includes(0);
}

async function mend(file: FileHandle, found: Found, path: string): Promise<Mended | undefined> {
  const cutBytes = Math.max(0, found.fileBytes - found.size);
  if (cutBytes === 0 && !found.lacksNewline) return undefined;
  try {
    if (cutBytes > 0) await file.truncate(found.size);
    if (found.lacksNewline) await writeWhole(file, Buffer.from('\n'));
    await file.datasync();
  } catch (error) {
    throw writeError(error, `mend the end of ${path}`);
  }
  return { cutBytes, isNewlineAdded: found.lacksNewline };
}

async function writeWhole(file: FileHandle, bytes: Buffer): Promise<void> {
  // One write; a second only where the first was cut short, and that one then says why.
  for (let at = 0; at < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, at, bytes.length - at);
    at += bytesWritten;
  }
}

export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

function damaged(path: string, line: ScannedLine, { seq, wrong }: { seq: number; wrong: string }): AppError {
  const { offset } = line;
  return new AppError('session-damaged', `${path} is damaged at byte ${offset}: ${wrong}`, {
    details: { path, offset, seq, wrong },
  });
}

export function writeError(error: unknown, tried: string): AppError {
  if (error instanceof AppError) return error;
  const errno = (error as NodeJS.ErrnoException).code ?? '';
  const code: ErrorCode = errno === 'ENOSPC' || errno === 'EDQUOT' ? 'store-full' : 'session-write-failed';
  return new AppError(code, `could not ${tried}: ${errno || String(error)}`, {
    details: { errno },
    cause: error,
  });
}

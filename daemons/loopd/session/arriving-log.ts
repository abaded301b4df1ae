/** A session log that comes from elsewhere byte for byte: written beside its place, checked whole, then given its name. */
import { open, rename, rm, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AppError } from '../../../shared/errors.ts';
import { sessionLogSuffix, type SessionRecord } from '../../../shared/protocol/sessions.ts';
import { decodeRecord, recordBytesMax } from './record-line.ts';
import { scanLines } from './scan-lines.ts';
import { syncDirectory, temporarySuffix, writeError } from './session-log.ts';

/** What is wrong with a line: where it stands, and why. */
export interface LineFault {
  readonly line: number;
  readonly field: string;
  readonly message: string;
  readonly value?: unknown;
}

type FaultOf = (record: SessionRecord) => Omit<LineFault, 'line'> | undefined;

export class ArrivingLog {
  readonly #path: string;
  readonly #temporary: string;
  readonly #file: FileHandle;
  #bytes = 0;

  private constructor(path: string, temporary: string, file: FileHandle) {
    this.#path = path;
    this.#temporary = temporary;
    this.#file = file;
  }

  /** The name beside it is one that the next start sweeps away. @throws AppError session-write-failed, store-full */
  static async begin(path: string, mode: number): Promise<ArrivingLog> {
    const temporary = `${path.slice(0, -sessionLogSuffix.length)}.import${sessionLogSuffix}${temporarySuffix}`;
    try {
      const file = await open(temporary, 'w+', mode);
      await file.chmod(mode);
      return new ArrivingLog(path, temporary, file);
    } catch (error) {
      throw writeError(error, `create ${temporary}`);
    }
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** @throws AppError session-write-failed, store-full */
  async write(text: string): Promise<void> {
    try {
      const bytes = Buffer.from(text);
      await this.#file.writeFile(bytes);
      this.#bytes += bytes.length;
    } catch (error) {
      throw writeError(error, `write ${this.#temporary}`);
    }
  }

  /** The first line that is no record as it should be. */
  async fault(faultOf: FaultOf): Promise<LineFault | undefined> {
    let line = 0;
    const options = { to: this.#bytes, lineBytesMax: recordBytesMax };
    for await (const lines of scanLines(this.#file, options)) {
      for (const { bytes, hasNewline, isTooLong } of lines) {
        const wrong = !hasNewline ? 'has no end' : isTooLong ? 'is too long' : undefined;
        if (wrong !== undefined) return { line, field: '', message: wrong };
        const record = decodeRecord(bytes, line);
        if ('wrong' in record) return { line, field: '', message: `is ${record.wrong}` };
        const fault = faultOf(record);
        if (fault !== undefined) return { line, ...fault };
        line += 1;
      }
    }
    return line === 0 ? { line, field: '', message: 'is missing: the log is empty' } : undefined;
  }

  /** On the disk under its own name when this returns. @throws AppError rejected, session-write-failed, store-full */
  async finish(): Promise<void> {
    try {
      await this.#file.sync();
      await this.#file.close();
      await rename(this.#temporary, this.#path);
      await syncDirectory(dirname(this.#path));
    } catch (error) {
      throw writeError(error, `create ${this.#path}`);
    }
  }

  async drop(): Promise<void> {
    await this.#file.close().catch(() => undefined);
    await rm(this.#temporary, { force: true });
  }
}

/** A piece that does not go on where the one before ended. */
export function outOfPlace(id: string, offset: number, due: number): AppError {
  return new AppError(
    'rejected',
    `a piece of the log of ${id} begins at byte ${offset} where ${due} is due`,
    {
      details: { field: 'offset', value: offset, due },
    },
  );
}

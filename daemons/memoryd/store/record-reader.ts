/** Reads records and proves each by its envelope, from an open store or from a snapshot of it. */
import { AppError } from '../../../shared/errors.ts';
import type { Range, Reader } from './engine.ts';
import { type Content, unseal } from './envelope.ts';
import { reasonOf } from './store-errors.ts';
import { metaPrefix } from './store-meta.ts';

export interface StoredEntry extends Content {
  readonly key: string;
}

/** A record whose bytes are not what was written: its key is known, and nothing else of it. */
export interface DamagedEntry {
  readonly key: string;
  readonly damaged: true;
}

export type RecordEntry = StoredEntry | DamagedEntry;

export class RecordReader {
  readonly #reader: Reader<string>;
  readonly #suspect: () => void;
  readonly #whyClosed: () => AppError;

  /**
   * @param suspect called when LevelDB could not read something, or gave what was not written
   * @param whyClosed says why the store was closed under a reader
   */
  constructor(reader: Reader<string>, suspect: () => void, whyClosed: () => AppError = closedError) {
    this.#reader = reader;
    this.#suspect = suspect;
    this.#whyClosed = whyClosed;
  }

  /** @throws AppError store-damaged, with the key in its details */
  get(key: string): Content | undefined {
    let value: string | undefined;
    try {
      value = this.#reader.get(key);
    } catch (error) {
      throw this.#unreadable(error, { key });
    }
    return value === undefined ? undefined : this.#proven(key, value);
  }

  /** @throws AppError store-damaged, with the first damaged key in its details */
  async getMany(keys: readonly string[]): Promise<(Content | undefined)[]> {
    let values: (string | undefined)[];
    try {
      values = await this.#reader.getMany(keys);
    } catch (error) {
      throw this.#unreadable(error, { keys: keys.length });
    }
    return values.map((value, i) => (value === undefined ? undefined : this.#proven(keys[i]!, value)));
  }

  /**
   * In key order, a page at a time; what its checksum does not prove is an entry too.
   *
   * LevelDB passes over a block that it cannot read and says so only at the end of the
   * range: then this throws after the last page. A scan that stops before says nothing.
   * @throws AppError store-damaged
   */
  async *range(range: Range): AsyncGenerator<RecordEntry[]> {
    const pages = this.#reader.range(range)[Symbol.asyncIterator]();
    try {
      for (;;) {
        let next: IteratorResult<[string, string][]>;
        try {
          next = await pages.next();
        } catch (error) {
          throw this.#unreadable(error, {});
        }
        if (next.done === true) return;
        const entries = this.#entriesOf(next.value);
        if (entries.length > 0) yield entries;
      }
    } finally {
      await pages.return?.();
    }
  }

  #entriesOf(page: readonly [string, string][]): RecordEntry[] {
    const entries: RecordEntry[] = [];
    for (const [key, value] of page) {
      if (key.startsWith(metaPrefix)) continue;
      const content = unseal(key, value);
      if (content === undefined) {
        this.#suspect();
        entries.push({ key, damaged: true });
      } else entries.push({ key, seq: content.seq, json: content.json });
    }
    return entries;
  }

  #proven(key: string, value: string): Content {
    const content = unseal(key, value);
    if (content !== undefined) return content;
    this.#suspect();
    throw new AppError('store-damaged', `record ${key} is not what was written`, { details: { key } });
  }

  #unreadable(error: unknown, details: Record<string, unknown>): AppError {
    if (error instanceof AppError) return error;
    const { code } = error as { code?: unknown };
    if (typeof code === 'string' && code.endsWith('_NOT_OPEN')) return this.#whyClosed();
    this.#suspect();
    return new AppError('store-damaged', `read from the record store: ${reasonOf(error)}`, {
      details,
      cause: error,
    });
  }
}

function closedError(): AppError {
  return new AppError('stopping', 'the record store is closed');
}

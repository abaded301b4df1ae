/**
 * The record store: what the handlers read and write.
 *
 * Every record carries its own sequence number and a checksum (envelope.ts); writes that
 * wait go down together (commit-queue.ts); what happens when the disk fails or lies is
 * in store-life.ts.
 */
import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { AppError } from '../../../shared/errors.ts';
import { CommitQueue, type Group } from './commit-queue.ts';
import { DiskReserve, minFreeBytesDefault, reserveBytesDefault } from './disk-reserve.ts';
import type { Operation, Range } from './engine.ts';
import { type Content, seal } from './envelope.ts';
import { lockWaitMsDefault } from './open-store.ts';
import type { RecordEntry } from './record-reader.ts';
import { writeError } from './store-errors.ts';
import { storeFilesOf } from './store-files.ts';
import { StoreLife } from './store-life.ts';
import { silentLog, type StoreLog } from './store-log.ts';
import { metaPrefix } from './store-meta.ts';
import type { StoreState } from './store-state.ts';
import type { Durability } from './store-writer.ts';
import { verifyRecords, type Verification } from './verify-records.ts';

const keyBytesMax = 4_096;
const jsonCharsMax = 16 * 1024 * 1024;
/** Sorts behind every key that starts with what stands in front of it. */
const lastCharacter = '\u{10ffff}';

export interface RecordStoreOptions {
  /** The directory of LevelDB; the small files of the store lie beside it. */
  readonly dir: string;
  readonly durable: Durability;
  readonly log?: StoreLog;
  /** Free space below which writes are refused, at most 5 % of the filesystem. */
  readonly minFreeBytes?: number;
  /** Laid in for a full disk, at most 2 % of the filesystem. */
  readonly reserveBytes?: number;
  /** How long a lock of another process is waited for. */
  readonly lockWaitMs?: number;
}

export type RecordOperation =
  | { readonly type: 'put'; readonly key: string; readonly json: string; readonly seq?: number }
  | { readonly type: 'del'; readonly key: string };

export interface RecordSnapshot {
  get(key: string): Content | undefined;
  getMany(keys: readonly string[]): Promise<(Content | undefined)[]>;
  range(range: Range): AsyncIterable<RecordEntry[]>;
  close(): Promise<void>;
}

export class RecordStore {
  readonly #dir: string;
  readonly #durable: Durability;
  readonly #reserve: DiskReserve;
  readonly #queue: CommitQueue;
  #life!: StoreLife;

  private constructor({ dir, durable, minFreeBytes, reserveBytes }: RecordStoreOptions) {
    this.#dir = resolve(dir);
    this.#durable = durable;
    this.#reserve = new DiskReserve({
      path: storeFilesOf(this.#dir).reserve,
      minFreeBytes: minFreeBytes ?? minFreeBytesDefault,
      reserveBytes: reserveBytes ?? reserveBytesDefault,
    });
    this.#queue = new CommitQueue((group) => this.#write(group));
  }

  /**
   * Whatever is wrong with the store itself is in its `state`, not thrown: the rest of
   * memoryd works on without it.
   * @throws AppError store-locked when another process holds it, with its pid in the details where known
   */
  static async open(options: RecordStoreOptions): Promise<RecordStore> {
    const store = new RecordStore(options);
    store.#life = await StoreLife.open({
      files: storeFilesOf(store.#dir),
      durable: options.durable,
      log: options.log ?? silentLog,
      lockWaitMs: options.lockWaitMs ?? lockWaitMsDefault,
      reserve: store.#reserve,
      drain: () => store.#queue.drain(),
    });
    return store;
  }

  get state(): StoreState {
    return this.#life.state;
  }

  /** @throws AppError store-damaged where it is not what was written; else by the state */
  get(key: string): Content | undefined {
    return this.#life.reading().reader.get(key);
  }

  /** @throws AppError as `get`, for the first key that cannot be read */
  async getMany(keys: readonly string[]): Promise<(Content | undefined)[]> {
    return await this.#life.reading().reader.getMany(keys);
  }

  /** In key order, a page at a time; what cannot be read is an entry too. @throws AppError as `get` */
  range(range: Range): AsyncIterable<RecordEntry[]> {
    return this.#life.reading().reader.range(range);
  }

  /** The records as they are now. To be closed: it keeps every old version on the disk. */
  snapshot(): RecordSnapshot {
    const handle = this.#life.reading();
    const snapshot = handle.engine.snapshot();
    const reader = handle.readerOf(snapshot);
    return {
      get: (key) => reader.get(key),
      getMany: (keys) => reader.getMany(keys),
      range: (range) => reader.range(range),
      close: () => snapshot.close(),
    };
  }

  /** Strictly rising, never given twice, across restarts and crashes too. @throws AppError by the state */
  nextSequence(): number {
    return this.#life.issue();
  }

  /** Later sequence numbers are above this one; an import brings the numbers of its records along. @throws AppError by the state */
  advanceTo(seq: number): void {
    this.#life.advanceTo(seq);
  }

  /**
   * All or nothing; it takes its place among the writes before it returns. A put without
   * `seq` gets a number of its own.
   * @throws AppError store-full, store-write-failed, with `outcome` in the details; else by the state
   */
  commit(operations: readonly RecordOperation[], { sync = false } = {}): Promise<void> {
    try {
      this.#life.assertWritable();
      // What deletes may go on, since it is what frees space.
      if (operations.some(({ type }) => type === 'put')) this.#assertSpace();
      const sealed = operations.map((operation) => this.#seal(operation));
      const bytes = sealed.reduce((sum, operation) => sum + sizeOf(operation), 0);
      return this.#queue.add({
        operations: sealed,
        bytes,
        sync: sync || this.#durable === 'all',
        flush: false,
      });
    } catch (error) {
      return Promise.reject(error instanceof AppError ? error : writeError(error, 'not-stored'));
    }
  }

  /** Whatever was committed before survives a power cut when this returns. @throws AppError as `commit` */
  async flush(): Promise<void> {
    this.#life.assertWritable();
    await this.#queue.add({ operations: [], bytes: 0, sync: true, flush: true });
  }

  /** Reads every record. It streams, and stops at a signal. */
  async verify(signal?: AbortSignal): Promise<Verification> {
    return await verifyRecords(this.#life.reading().reader, { issued: this.#life.issued, signal });
  }

  /** Bytes on the disk: of the store, or roughly of the records whose keys start with `prefix`. */
  async size(prefix?: string): Promise<number> {
    const { engine } = this.#life.reading();
    if (prefix !== undefined) return await engine.size({ start: prefix, end: prefix + lastCharacter });
    let bytes = 0;
    for (const name of await readdir(this.#dir)) {
      const found = await stat(join(this.#dir, name)).catch(() => undefined);
      bytes += found?.size ?? 0;
    }
    return bytes;
  }

  /** Rewrites the records whose keys start with `prefix`, so that what was deleted there leaves the disk. */
  async compact(prefix: string): Promise<void> {
    // Compaction gives damage a valid checksum, so all must have been looked at before.
    await this.#life.scrubbed();
    await this.#life.reading().engine.compact({ start: prefix, end: prefix + lastCharacter });
  }

  /** Looks again at a store that is not in use, and uses it if it was mended or replaced. @throws AppError store-locked */
  async recheck(): Promise<StoreState> {
    return await this.#life.recheck();
  }

  status() {
    const { state, issued, recoveries, scrub, opened } = this.#life;
    return {
      state,
      issued,
      recoveries,
      durable: this.#durable,
      tables: scrub,
      wasCleanStop: opened?.wasCleanStop,
      defects: opened?.defects ?? [],
      ...this.#queue.counts,
      freeBytes: this.#reserve.freeBytes,
      floorBytes: this.#reserve.floorBytes,
    };
  }

  /** What was accepted is finished first. */
  async close(): Promise<void> {
    await this.#life.close();
  }

  async #write(group: Group): Promise<void> {
    const writer = this.#life.writer();
    try {
      await writer.write(group, this.#life.issued);
    } catch (error) {
      this.#life.failed(error);
      throw error;
    }
  }

  #assertSpace(): void {
    if (!this.#reserve.isTooFull()) return;
    const { freeBytes, floorBytes } = this.#reserve;
    throw new AppError(
      'store-full',
      `write to the record store: only ${freeBytes} bytes are free on its disk`,
      {
        details: { outcome: 'not-stored', free_bytes: freeBytes, floor_bytes: Math.ceil(floorBytes) },
      },
    );
  }

  #seal(operation: RecordOperation): Operation<string> {
    const { key } = operation;
    if (key === '' || key.length > keyBytesMax || key.startsWith(metaPrefix) || !isStorable(key)) {
      throw new AppError('internal', `not a key of a record: ${JSON.stringify(key.slice(0, 100))}`);
    }
    if (operation.type === 'del') return { type: 'del', key };
    const { json } = operation;
    if (json.length > jsonCharsMax) {
      throw new AppError('rejected', `record ${key} has ${json.length} characters, over ${jsonCharsMax}`, {
        details: { key },
      });
    }
    const seq = operation.seq ?? this.#life.issue();
    return { type: 'put', key, value: seal(key, { seq, json }) };
  }
}

/** A lone surrogate would be stored as another character, and two keys could become one. */
function isStorable(key: string): boolean {
  return key.isWellFormed() && !key.includes('\0');
}

function sizeOf(operation: Operation<string>): number {
  return operation.key.length + (operation.type === 'put' ? operation.value.length : 0);
}

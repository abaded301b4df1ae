/** The engine interface over any database of the abstract-level family; level and memory-level differ only in what they are given here. */
import type { Engine, Operation, Range, Reader, Snapshot, Value } from './engine.ts';

/** Entries of one page at most; `pageBytesMax` usually ends a page earlier. */
const pageEntriesMax = 256;
const pageBytesMax = 64 * 1024;

interface DatabaseSnapshot {
  close(): Promise<void>;
}

interface DatabaseIterator<V> {
  nextv(entriesMax: number): Promise<[string, V][]>;
  close(): Promise<void>;
}

interface DatabaseBatch<V> {
  put(key: string, value: V): unknown;
  del(key: string): unknown;
  write(options: { sync: boolean }): Promise<void>;
  close(): Promise<void>;
}

/** The part of an abstract-level database that this project uses. */
export interface Database<V extends Value> {
  getSync(key: string, options: { snapshot?: DatabaseSnapshot }): V | undefined;
  getMany(keys: string[], options: { snapshot?: DatabaseSnapshot }): Promise<(V | undefined)[]>;
  iterator(options: Range & { snapshot?: DatabaseSnapshot; highWaterMarkBytes: number }): DatabaseIterator<V>;
  batch(): DatabaseBatch<V>;
  snapshot(): DatabaseSnapshot;
  close(): Promise<void>;
}

/** What a database cannot do by itself. */
export interface Upkeep {
  readonly flush: () => Promise<void>;
  readonly compact: (range: { start: string; end: string }) => Promise<void>;
  readonly size: (range: { start: string; end: string }) => Promise<number>;
  /** Runs after the database is closed, whether or not closing went well. */
  readonly closed: () => void;
}

export function engineOver<V extends Value>(database: Database<V>, upkeep: Upkeep): Engine<V> {
  return {
    ...readerOf(database),
    write: (operations, { sync }) => writeBatch(database, operations, sync),
    snapshot: () => snapshotOf(database),
    flush: upkeep.flush,
    compact: upkeep.compact,
    size: upkeep.size,
    async close() {
      try {
        await database.close();
      } finally {
        upkeep.closed();
      }
    },
  };
}

/**
 * A chained batch: an array of operations costs four times as much time on the main
 * thread, because each operation is cloned and then read field by field.
 */
async function writeBatch<V extends Value>(
  database: Database<V>,
  operations: readonly Operation<V>[],
  sync: boolean,
): Promise<void> {
  const batch = database.batch();
  try {
    for (const operation of operations) {
      if (operation.type === 'put') batch.put(operation.key, operation.value);
      else batch.del(operation.key);
    }
  } catch (error) {
    await batch.close();
    throw error;
  }
  await batch.write({ sync });
}

function snapshotOf<V extends Value>(database: Database<V>): Snapshot<V> {
  const snapshot = database.snapshot();
  return { ...readerOf(database, snapshot), close: () => snapshot.close() };
}

function readerOf<V extends Value>(database: Database<V>, snapshot?: DatabaseSnapshot): Reader<V> {
  const at = snapshot === undefined ? {} : { snapshot };
  return {
    get: (key) => database.getSync(key, at),
    getMany: (keys) => database.getMany([...keys], at),
    range: (range) => pagesOf(() => database.iterator({ ...range, ...at, highWaterMarkBytes: pageBytesMax })),
  };
}

/**
 * The only place that opens an iterator. It closes it however the loop ends: one left
 * open pins every old version on the disk. The next page is read while the caller
 * works on this one.
 */
async function* pagesOf<V>(open: () => DatabaseIterator<V>): AsyncGenerator<[string, V][]> {
  const iterator = open();
  const read = () => {
    const page = iterator.nextv(pageEntriesMax);
    // Whoever leaves the loop early never awaits this page; its failure is then nobody's business.
    page.catch(() => {});
    return page;
  };
  try {
    let next = read();
    for (;;) {
      const page = await next;
      // A page may be short at any time; only an empty one is the end.
      if (page.length === 0) return;
      next = read();
      yield page;
    }
  } finally {
    await iterator.close();
  }
}

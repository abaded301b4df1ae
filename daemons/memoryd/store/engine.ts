/** The ordered key-value engine that memoryd's parts are written against; none of them knows LevelDB. */

/** Keys sort by their UTF-8 bytes. Values are text in the record store and bytes in the index. */
export type Value = string | Uint8Array;

export type Operation<V extends Value> =
  | { readonly type: 'put'; readonly key: string; readonly value: V }
  | { readonly type: 'del'; readonly key: string };

/** Bounds of a scan. `limit` counts entries; without it the scan goes to the end of the range. */
export interface Range {
  readonly gt?: string;
  readonly gte?: string;
  readonly lt?: string;
  readonly lte?: string;
  readonly reverse?: boolean;
  readonly limit?: number;
}

/** What can be read, from the engine as it is now or from a snapshot of it. */
export interface Reader<V extends Value> {
  /** @returns undefined where there is no such key. */
  get(key: string): V | undefined;
  getMany(keys: readonly string[]): Promise<(V | undefined)[]>;
  /** Entries in key order, a page at a time; the iterator is closed however the loop ends. */
  range(range: Range): AsyncIterable<[key: string, value: V][]>;
}

export interface Snapshot<V extends Value> extends Reader<V> {
  close(): Promise<void>;
}

export interface Engine<V extends Value> extends Reader<V> {
  /** All or nothing. With `sync` it returns after the bytes are on the disk. */
  write(operations: readonly Operation<V>[], options: { sync: boolean }): Promise<void>;
  snapshot(): Snapshot<V>;
  /** Everything written before is on the disk when this returns. */
  flush(): Promise<void>;
  /** Rewrites a range without what was deleted in it, so that it leaves the disk. */
  compact(range: { start: string; end: string }): Promise<void>;
  /** Bytes on disk, roughly. */
  size(range: { start: string; end: string }): Promise<number>;
  close(): Promise<void>;
}

/** The part of the record store that the record plane stands on. */
import type { Role } from '../../../shared/protocol/method.ts';
import type { Range } from '../store/engine.ts';

export interface StoredEntry {
  readonly key: string;
  readonly seq: number;
  readonly json: string;
}

/** A record whose bytes are not what was written: its key is known, and nothing else of it. */
export interface DamagedEntry {
  readonly key: string;
  readonly damaged: true;
}

export type RecordEntry = StoredEntry | DamagedEntry;

export type RecordOperation =
  | { readonly type: 'put'; readonly key: string; readonly json: string; readonly seq?: number }
  | { readonly type: 'del'; readonly key: string };

export interface RecordStore {
  /** @throws AppError store-damaged, with the key in its details */
  get(key: string): { readonly seq: number; readonly json: string } | undefined;
  /** In key order, a page at a time; what cannot be read is an entry too. */
  range(range: Range): AsyncIterable<readonly RecordEntry[]>;
  /** Strictly rising, never given twice, across restarts too. */
  nextSequence(): number;
  /** All or nothing. It takes its place among the writes before it returns. */
  commit(operations: readonly RecordOperation[], options?: { sync?: boolean }): Promise<void>;
  flush(): Promise<void>;
}

/** Does a request once for its `request_id`, however often it is sent. */
export interface RecordRequests {
  /** `remember` gives the operations that keep the reply; they belong into the commit of the work. */
  once<R>(
    call: { role: Role; method: string },
    params: { readonly request_id?: string },
    work: (remember: (reply: R) => readonly RecordOperation[]) => Promise<R>,
  ): Promise<R>;
}

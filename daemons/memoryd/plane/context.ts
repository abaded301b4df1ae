/** What the record plane needs of the rest of memoryd. */
import type { KindName } from '../../../shared/protocol/records.ts';
import type { RecordRequests, RecordStore } from './records.ts';

export interface PlaneContext {
  readonly store: RecordStore;
  readonly requests: RecordRequests;
  readonly nowMs: () => number;
  /** Told of each record after it was stored, in the order they were: the index reads on from here. */
  readonly onRecord?: (stored: StoredRecord) => void;
}

export interface StoredRecord {
  readonly kind: KindName;
  readonly key: string;
  readonly seq: number;
  readonly record: Readonly<Record<string, unknown>>;
}

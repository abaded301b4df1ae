/** The part of the record store that its users stand on; a test gives it over an engine in memory. */
import type { RecordStore as WholeStore } from '../store/record-store.ts';
import type { RequestLedger } from '../store/requests.ts';

export type { RecordOperation } from '../store/record-store.ts';
export type { RecordEntry, StoredEntry } from '../store/record-reader.ts';
export type RecordStore = Pick<WholeStore, 'get' | 'range' | 'nextSequence' | 'commit' | 'flush'>;
export type RecordRequests = Pick<RequestLedger, 'once'>;

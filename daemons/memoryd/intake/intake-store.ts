/** The part of the record store that intake stands on. */
import type { RecordStore } from '../store/record-store.ts';

export type IntakeStore = Pick<RecordStore, 'get' | 'range' | 'commit' | 'compact'>;

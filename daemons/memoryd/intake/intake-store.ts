/** The part of the record store that intake stands on. */
import type { RecordStore } from '../store/record-store.ts';

export interface IntakeStore extends Pick<RecordStore, 'get' | 'range' | 'commit' | 'compact'> {
  /** `issued`: the highest sequence number that was given out. */
  status(): { readonly issued: number };
}

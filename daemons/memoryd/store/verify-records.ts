/** Reads every record of a store and says which of them are not what was written. */
import type { RecordReader } from './record-reader.ts';

/** More keys are counted, not named. */
const keysMax = 1_000;

export interface Verification {
  readonly records: number;
  readonly damaged: number;
  readonly damagedKeys: readonly string[];
  /** The highest sequence number in a record. */
  readonly sequenceMax: number;
  /** Records with a number that was never given out: the store has lost its own count. */
  readonly ahead: number;
}

/** @throws AppError store-damaged where LevelDB had to pass over a block of records */
export async function verifyRecords(
  reader: RecordReader,
  { issued, signal }: { issued: number; signal?: AbortSignal | undefined },
): Promise<Verification> {
  const found = { records: 0, damaged: 0, damagedKeys: [] as string[], sequenceMax: 0, ahead: 0 };
  for await (const page of reader.range({})) {
    signal?.throwIfAborted();
    for (const entry of page) {
      found.records += 1;
      if ('damaged' in entry) {
        found.damaged += 1;
        if (found.damagedKeys.length < keysMax) found.damagedKeys.push(entry.key);
        continue;
      }
      found.sequenceMax = Math.max(found.sequenceMax, entry.seq);
      if (entry.seq > issued) found.ahead += 1;
    }
  }
  return found;
}

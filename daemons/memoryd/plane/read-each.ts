/** Goes through records in order, sets aside those that cannot be read, and goes on with the others. */
import { AppError } from '../../../shared/errors.ts';
import type { Range } from '../store/engine.ts';
import type { KeyRange } from './keys.ts';
import type { RecordEntry, RecordStore, StoredEntry } from './records.ts';

/** More are not named: the rest is found by looking through the whole store. */
const damagedMax = 1000;

/**
 * The entries of a range, or of a part of it. A part of the store that cannot be read at all has no keys any more: what
 * could be read comes first, and then one entry of damage, whose key is the beginning that all keys of the range share.
 * @throws AppError store-damaged where nothing could be read
 */
export async function* pagesOf(
  store: RecordStore,
  range: KeyRange,
  part: Range = range,
): AsyncGenerator<readonly RecordEntry[]> {
  let isAnyRead = false;
  try {
    for await (const entries of store.range(part)) {
      isAnyRead = true;
      yield entries;
    }
  } catch (thrown) {
    const isDamage = thrown instanceof AppError && thrown.code === 'store-damaged';
    if (!isDamage || !isAnyRead) throw thrown;
    yield [{ key: range.gte, damaged: true }];
  }
}

/**
 * Reads until the range, or the part of it, ends.
 * @returns the keys of what could not be read
 */
export async function readEach(
  pages: AsyncIterable<readonly RecordEntry[]>,
  read: (entry: StoredEntry) => void,
): Promise<string[]> {
  const damaged: string[] = [];
  for await (const entries of pages) {
    for (const entry of entries) {
      const isRead = !('damaged' in entry) && isReadable(() => read(entry));
      if (!isRead && damaged.length < damagedMax) damaged.push(entry.key);
    }
  }
  return damaged;
}

function isReadable(read: () => void): boolean {
  try {
    read();
    return true;
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return false;
    throw thrown;
  }
}

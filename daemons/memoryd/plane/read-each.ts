/** Goes through records one at a time and sets aside those that cannot be read. */
import type { Range } from '../store/engine.ts';
import type { RecordStore, StoredEntry } from './records.ts';

/** More are not named: the rest is found by looking through the whole store. */
const damagedMax = 1000;

/**
 * Reads until the range ends or `read` says `stop`.
 * @returns the keys of what could not be read
 */
export async function readEach(
  store: RecordStore,
  range: Range,
  read: (entry: StoredEntry) => 'next' | 'stop',
): Promise<string[]> {
  const damaged: string[] = [];
  const setAside = (key: string) => {
    if (damaged.length < damagedMax) damaged.push(key);
  };
  for await (const entries of store.range(range)) {
    for (const entry of entries) {
      try {
        if ('damaged' in entry) setAside(entry.key);
        else if (read(entry) === 'stop') return damaged;
      } catch (thrown) {
        if (!(thrown instanceof SyntaxError)) throw thrown;
        setAside(entry.key);
      }
    }
  }
  return damaged;
}

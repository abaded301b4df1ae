/** Reads what was said back from where it is kept: the session logs, and the records of runs. */
import { closeSync, constants, openSync, readSync } from 'node:fs';
import type { RecordOf } from '../../../shared/protocol/records.ts';
import { keyOf } from '../plane/keys.ts';
import type { IntakeStore } from './intake-store.ts';
import type { Container, Item, Texts, Wanted } from '../recall/item.ts';
import { itemOfEpisode, itemOfRecord, itemOfSummary } from './items.ts';
import { readRunLocator } from './run-locator.ts';
import { readLine } from './session-line.ts';
import type { SessionsFolder } from './sessions-folder.ts';

/** Of texts that were read lately. */
const cacheBytesMax = 16 * 1024 * 1024;
/** A text that would drive out most others is read anew each time. */
const cachedBytesMax = cacheBytesMax / 16;
const bytesPerCharacter = 2;
/** An item without its text, with its place in the cache. */
const itemBytes = 300;

export class KeptTexts implements Texts {
  readonly #folder: SessionsFolder;
  readonly #store: IntakeStore;
  /** In the order of their last use. */
  readonly #cache = new Map<string, Item>();
  #cacheBytes = 0;

  constructor(folder: SessionsFolder, store: IntakeStore) {
    this.#folder = folder;
    this.#store = store;
  }

  async read(container: Container, wanted: readonly Wanted[]): Promise<(Item | undefined)[]> {
    const found = wanted.map((one) => this.#cached(cacheKey(container, one)));
    const missing = wanted.filter((_, at) => found[at] === undefined);
    if (missing.length === 0) return found;
    const read = this.#readMissing(container, missing);
    for (const [at, one] of wanted.entries()) {
      if (found[at] !== undefined) continue;
      const item = read.shift();
      found[at] = item;
      if (item !== undefined) this.#keep(cacheKey(container, one), item);
    }
    return found;
  }

  /** Nothing of what was forgotten or rewritten is answered from memory. */
  drop({ kind, id }: Container): void {
    const prefix = `${kind} ${id} `;
    for (const [key, item] of this.#cache) {
      if (!key.startsWith(prefix)) continue;
      this.#cache.delete(key);
      this.#cacheBytes -= bytesOf(item);
    }
  }

  #readMissing({ kind, id }: Container, wanted: readonly Wanted[]): (Item | undefined)[] {
    return kind === 'session' ? this.#readLog(id, wanted) : wanted.map((one) => this.#readRecord(id, one));
  }

  /** Small reads in place: a hop to the thread pool and back would cost more than they do. */
  #readLog(session: string, wanted: readonly Wanted[]): (Item | undefined)[] {
    let file: number | undefined;
    try {
      file = openSync(this.#folder.pathOf(session), constants.O_RDONLY | constants.O_NONBLOCK);
      const log = file;
      return wanted.map((one) => readItem(log, one));
    } catch {
      // Gone, or not mounted, or no file: the same as a text that is no longer there.
      return wanted.map(() => undefined);
    } finally {
      if (file !== undefined) closeSync(file);
    }
  }

  #readRecord(run: string, { record, locator }: Wanted): Item | undefined {
    const { kind, iteration } = readRunLocator(locator);
    try {
      const key = keyOf(kind, { run, seq: record, iteration });
      const stored = this.#store.get(key);
      // A summary that was written again is another text, with a number of its own.
      if (stored === undefined || stored.seq !== record) return undefined;
      const value = JSON.parse(stored.json) as unknown;
      return kind === 'episode'
        ? itemOfEpisode(value as RecordOf<'episode'>, record, locator)
        : itemOfSummary(value as RecordOf<'summary'>, record, locator);
    } catch {
      // Damaged, or the whole store is: reported by what reads it for its own sake; here its text is gone.
      return undefined;
    }
  }

  #cached(key: string): Item | undefined {
    const item = this.#cache.get(key);
    if (item === undefined) return undefined;
    this.#cache.delete(key);
    this.#cache.set(key, item);
    return item;
  }

  #keep(key: string, item: Item): void {
    const bytes = bytesOf(item);
    if (bytes > cachedBytesMax || this.#cache.has(key)) return;
    this.#cache.set(key, item);
    this.#cacheBytes += bytes;
    for (const [oldest, dropped] of this.#cache) {
      if (this.#cacheBytes <= cacheBytesMax) break;
      this.#cache.delete(oldest);
      this.#cacheBytes -= bytesOf(dropped);
    }
  }
}

const cacheKey = ({ kind, id }: Container, { record, locator }: Wanted) =>
  `${kind} ${id} ${record} ${locator}`;
const bytesOf = (item: Item) => item.text.length * bytesPerCharacter + itemBytes;

/** @returns undefined where another record, or none, lies there now. */
function readItem(file: number, { record, locator }: Wanted): Item | undefined {
  const [offset, length] = locator.split(':').map(Number);
  if (offset === undefined || length === undefined) return undefined;
  const bytes = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const read = readSync(file, bytes, filled, length - filled, offset + filled);
    if (read === 0) return undefined;
    filled += read;
  }
  const line = readLine(bytes);
  if (line === undefined || line.start > 0 || line.record.seq !== record) return undefined;
  return itemOfRecord(line.record, locator);
}

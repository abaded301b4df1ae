/** What was forgotten, kept in two places, so that losing one of them brings nothing back. */
import type { Log } from '../../../shared/log.ts';
import type { IntakeStore } from './intake-store.ts';
import type { IndexPort } from './index-port.ts';
import { factsOf } from './items.ts';

export interface Tombstone {
  readonly atMs: number;
  /** All of the session; otherwise only some lines of it. */
  readonly whole: boolean;
  /**
   * Digest of the first line of the log that was forgotten. A log of that id that begins otherwise is another
   * session, made on purpose; one that begins so is the old one come back. Undefined where no log was ever seen.
   */
  readonly firstLine?: string;
  /** Digest of each line that was forgotten. */
  readonly lines?: readonly string[];
}

const keyPrefix = 'fg/';
const range = { gte: 'fg/', lt: 'fg0' };
/** Lines of one session; beyond them the oldest are dropped: by then their log was rewritten without them. */
const linesMax = 10_000;

export class Tombstones {
  readonly #store: IntakeStore;
  readonly #log: Log;
  readonly #bySession = new Map<string, Tombstone>();
  #whole = 0;

  constructor(store: IntakeStore, log: Log) {
    this.#store = store;
    this.#log = log;
  }

  /** How many sessions are left out because they were forgotten. */
  get sessions(): number {
    return this.#whole;
  }

  get(session: string): Tombstone | undefined {
    return this.#bySession.get(session);
  }

  entries(): IterableIterator<[session: string, tombstone: Tombstone]> {
    return this.#bySession.entries();
  }

  /** Takes what either place knows and completes both. */
  async load(index: IndexPort): Promise<void> {
    const inStore = await this.#readStore();
    const inIndex = await readIndex(index);
    for (const session of new Set([...inStore.keys(), ...inIndex.keys(), ...this.#bySession.keys()])) {
      const known = [inStore.get(session), inIndex.get(session), this.#bySession.get(session)];
      const merged = known.filter((one) => one !== undefined).reduce(merge);
      this.#set(session, merged);
      const text = JSON.stringify(merged);
      if (JSON.stringify(inIndex.get(session)) !== text) await writeIndex(index, session, text);
      if (JSON.stringify(inStore.get(session)) !== text) await this.#writeStore(session, text);
    }
  }

  /** On the disk in both places when this returns; where the store takes no writes, in the index alone. */
  async add(index: IndexPort, session: string, tombstone: Tombstone): Promise<void> {
    const known = this.#bySession.get(session);
    const merged = known === undefined ? tombstone : merge(known, tombstone);
    this.#set(session, merged);
    const text = JSON.stringify(merged);
    await this.#writeStore(session, text);
    await writeIndex(index, session, text);
  }

  /** Another session took the id on purpose. */
  async lift(index: IndexPort, session: string): Promise<void> {
    this.#delete(session);
    await writeIndex(index, session, '');
    await this.#store.commit([{ type: 'del', key: keyPrefix + session }], { sync: true });
  }

  #set(session: string, tombstone: Tombstone): void {
    this.#delete(session);
    this.#bySession.set(session, tombstone);
    if (tombstone.whole) this.#whole += 1;
  }

  #delete(session: string): void {
    if (this.#bySession.get(session)?.whole === true) this.#whole -= 1;
    this.#bySession.delete(session);
  }

  async #readStore(): Promise<Map<string, Tombstone>> {
    const found = new Map<string, Tombstone>();
    try {
      for await (const page of this.#store.range(range)) {
        for (const entry of page) {
          if ('damaged' in entry) continue;
          found.set(entry.key.slice(keyPrefix.length), JSON.parse(entry.json) as Tombstone);
        }
      }
    } catch (error) {
      this.#log.warn({ err: error }, 'the store does not say what was forgotten; the index does');
    }
    return found;
  }

  /** A store that takes no writes must not bring back what is forgotten: the index keeps it until the next start. */
  async #writeStore(session: string, text: string): Promise<void> {
    try {
      await this.#store.commit([{ type: 'put', key: keyPrefix + session, json: text }], { sync: true });
    } catch (error) {
      this.#log.warn({ err: error, session }, 'only the index keeps that the session was forgotten');
    }
  }
}

async function readIndex(index: IndexPort): Promise<Map<string, Tombstone>> {
  const found = new Map<string, Tombstone>();
  for (const key of await index.progressKeys(keyPrefix)) {
    const text = index.progress(key) ?? '';
    if (text !== '') found.set(key.slice(keyPrefix.length), JSON.parse(text) as Tombstone);
  }
  return found;
}

async function writeIndex(index: IndexPort, session: string, text: string): Promise<void> {
  await index.append(factsOf(session, undefined), [], { key: keyPrefix + session, value: text });
}

function merge(known: Tombstone, other: Tombstone): Tombstone {
  const lines = [...new Set([...(known.lines ?? []), ...(other.lines ?? [])])].slice(-linesMax);
  const firstLine = other.firstLine ?? known.firstLine;
  return {
    atMs: Math.max(known.atMs, other.atMs),
    whole: known.whole || other.whole,
    ...(firstLine === undefined ? {} : { firstLine }),
    ...(lines.length === 0 ? {} : { lines }),
  };
}

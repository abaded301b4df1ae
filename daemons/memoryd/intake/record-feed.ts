/** Reads episodes and summaries of the record plane into the index: as they are stored, and what it missed. */
import type { RecordOf } from '../../../shared/protocol/records.ts';
import type { StoredRecord } from '../plane/context.ts';
import { readKey } from '../plane/keys.ts';
import type { IntakeStore } from './intake-store.ts';
import type { Item, SessionFacts } from '../recall/item.ts';
import type { IndexPort } from './index-port.ts';
import { itemOfEpisode, itemOfSummary, runOf } from './items.ts';
import { writeRunLocator } from './run-locator.ts';
import { episodesKey, episodesProgress, progressKeysOfRun, summaryProgress } from './run-progress.ts';
import { unfedRecords, type Unfed } from './unfed-records.ts';

interface Fed {
  readonly key: string;
  readonly seq: number;
  readonly record: unknown;
}

interface Queued extends Fed {
  readonly kind: Unfed['kind'];
  readonly run: string;
}

/** Records that wait for the index. Beyond them it catches up from the store, which holds them anyway. */
const queueLengthMax = 1000;
/** Episodes of one run that go in together. */
const batchLengthMax = 256;

const never = () => false;

/** Whether records of a kind go into the index at all. */
export function isFed(kind: StoredRecord['kind']): kind is Unfed['kind'] {
  return kind === 'episode' || kind === 'summary';
}

export class RecordFeed {
  readonly #index: IndexPort;
  readonly #store: IntakeStore;
  #queue: Queued[] = [];
  /** Something is in the store that went through no queue. */
  #mustCatchUp = true;
  /** What the store had given out when it was last looked through; undefined before the first time. */
  #issued: number | undefined;
  /** Counted in the store, besides the queue. */
  #missed = 0;
  #work: Promise<unknown> = Promise.resolve();
  readonly #damaged = new Set<string>();

  constructor(index: IndexPort, store: IntakeStore) {
    this.#index = index;
    this.#store = store;
  }

  /** Records that cannot be found yet, as far as they are counted. */
  get behind(): number {
    return this.#missed + this.#queue.length;
  }

  /** Keys of records that could not be read. */
  get damaged(): readonly string[] {
    return [...this.#damaged];
  }

  /** Takes its place at once; `settle` tells when it can be found. */
  take({ kind, key, seq, record }: StoredRecord): void {
    if (!isFed(kind)) return;
    const run = readKey(key)?.run;
    if (run === undefined) return;
    if (this.#queue.length >= queueLengthMax) {
      this.#missed += this.#queue.length;
      this.#queue = [];
      this.#mustCatchUp = true;
    }
    this.#queue.push({ kind, run, key, seq, record });
  }

  /**
   * What was taken before can be found when this returns true; false where it made way.
   * @throws what the index or the store throws; then the next call goes on from what is in the index
   */
  async settle(mustMakeWay: () => boolean = never): Promise<boolean> {
    const settle = () => this.#settle(mustMakeWay);
    const work = this.#work.then(settle, settle);
    this.#work = work;
    return await work;
  }

  /** Looks through the store again where records were stored since; for those of which nobody told. */
  recheck(): void {
    if (this.#store.status().issued !== this.#issued) this.#mustCatchUp = true;
  }

  /** These were forgotten before they came into the index. */
  drop(keys: ReadonlySet<string>): void {
    this.#queue = this.#queue.filter(({ key }) => !keys.has(key));
  }

  /** The run was forgotten, and so is how far it was read. */
  async dropProgress(run: string): Promise<void> {
    for (const key of await progressKeysOfRun(this.#index, run))
      await this.#index.append(runFacts(run), [], { key, value: '' });
  }

  async #settle(mustMakeWay: () => boolean): Promise<boolean> {
    while (this.#mustCatchUp) {
      // What is stored from here on is queued, and what the scan meets of it is not fed again from there.
      this.#mustCatchUp = false;
      let isComplete = false;
      try {
        isComplete = await this.#catchUp(mustMakeWay);
      } finally {
        if (!isComplete) this.#mustCatchUp = true;
      }
      if (!isComplete) return false;
    }
    while (this.#queue.length > 0) {
      if (this.#mustCatchUp || mustMakeWay()) return false;
      const batch = this.#front();
      await this.#feed(batch);
      // A record that came meanwhile may have overflowed the queue, which then is another one.
      if (!this.#mustCatchUp) this.#queue.splice(0, batch.entries.length);
    }
    return true;
  }

  async #catchUp(mustMakeWay: () => boolean): Promise<boolean> {
    const { issued } = this.#store.status();
    const source = {
      store: this.#store,
      index: this.#index,
      onDamaged: (key: string) => this.#damaged.add(key),
    };
    this.#missed = 0;
    for await (const { entries } of unfedRecords(source)) this.#missed += entries.length;
    for await (const { kind, run, entries } of unfedRecords(source)) {
      for (let at = 0; at < entries.length; at += batchLengthMax) {
        if (mustMakeWay()) return false;
        const batch = entries.slice(at, at + batchLengthMax).map(({ key, seq, json }) => ({
          key,
          seq,
          record: JSON.parse(json) as unknown,
        }));
        await this.#feed({ kind, run, entries: batch });
        this.#missed = Math.max(0, this.#missed - batch.length);
      }
    }
    this.#missed = 0;
    this.#issued = issued;
    return true;
  }

  /** What goes in together at the front of the queue: episodes of one run, or one summary. */
  #front(): { kind: Unfed['kind']; run: string; entries: Fed[] } {
    const [first] = this.#queue;
    const { kind, run } = first as Queued;
    const lengthMax = kind === 'episode' ? batchLengthMax : 1;
    const other = this.#queue.slice(0, lengthMax).findIndex((next) => next.kind !== kind || next.run !== run);
    return { kind, run, entries: this.#queue.slice(0, other === -1 ? lengthMax : other) };
  }

  async #feed({ kind, run, entries }: { kind: Unfed['kind']; run: string; entries: Fed[] }): Promise<void> {
    if (kind === 'episode') await this.#feedEpisodes(run, entries);
    else for (const entry of entries) await this.#feedSummary(run, entry);
  }

  async #feedEpisodes(run: string, entries: readonly Fed[]): Promise<void> {
    const known = episodesProgress(this.#index, run);
    const fresh = entries.filter(({ seq }) => known === undefined || seq > known.seq);
    const last = fresh.at(-1);
    if (last === undefined) return;
    const items: Item[] = [];
    for (const { seq, record } of fresh) {
      const item = itemOfEpisode(record as RecordOf<'episode'>, seq, episodeLocator);
      if (item !== undefined) items.push(item);
    }
    const value = JSON.stringify({ seq: last.seq });
    await this.#index.append(runFacts(run), items, { key: episodesKey(run), value });
  }

  /** The new text is findable before the old one goes; a crash between leaves a mark to finish by. */
  async #feedSummary(run: string, { key, seq, record }: Fed): Promise<void> {
    const known = summaryProgress(this.#index, key);
    const summary = record as RecordOf<'summary'>;
    const facts = runFacts(run);
    let replaces = known?.replaces;
    if (known === undefined || known.seq < seq) {
      // A kill left the text before the known one, and the known one is replaced in its turn.
      if (replaces !== undefined) await this.#index.forgetRecords(runOf(run), [replaces]);
      replaces = known?.seq;
      const locator = writeRunLocator({ kind: 'summary', iteration: summary.iteration });
      const item = itemOfSummary(summary, seq, locator);
      const value = JSON.stringify({ seq, replaces });
      await this.#index.append(facts, item === undefined ? [] : [item], { key, value });
    }
    if (replaces === undefined) return;
    await this.#index.forgetRecords(runOf(run), [replaces]);
    await this.#index.append(facts, [], {
      key,
      value: JSON.stringify({ seq: Math.max(seq, known?.seq ?? 0) }),
    });
  }
}

const episodeLocator = writeRunLocator({ kind: 'episode', iteration: 0 });

/** A run has no start of its own: which of its records was read first must not matter. */
function runFacts(run: string): SessionFacts {
  return { kind: 'run', id: run, origin: 'run', startedMs: 0 };
}

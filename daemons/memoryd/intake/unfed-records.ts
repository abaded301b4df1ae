/** Which records of the store are not in the index: run by run, without reading what is. */
import { keyOf, rangeOf, readKey, type KeyRange } from '../plane/keys.ts';
import type { RecordEntry, StoredEntry } from '../store/record-reader.ts';
import type { IntakeStore } from './intake-store.ts';
import type { IndexPort } from './index-port.ts';
import { episodesProgress, summaryProgress } from './run-progress.ts';

export interface Unfed {
  readonly kind: 'episode' | 'summary';
  readonly run: string;
  /** In the order of their keys. */
  readonly entries: readonly StoredEntry[];
}

interface Source {
  readonly store: IntakeStore;
  readonly index: IndexPort;
  /** Told of a record that cannot be read. */
  readonly onDamaged: (key: string) => void;
}

export async function* unfedRecords(source: Source): AsyncGenerator<Unfed, void, undefined> {
  for (const kind of ['episode', 'summary'] as const) {
    const all = rangeOf(kind);
    for (let from = all.gte; ;) {
      const run = await firstRun(source.store, { gte: from, lt: all.lt });
      if (run === undefined) break;
      yield* kind === 'episode' ? unfedEpisodes(source, run) : unfedSummaries(source, run);
      from = rangeOf(kind, run).lt;
    }
  }
}

async function firstRun(store: IntakeStore, range: KeyRange): Promise<string | undefined> {
  for await (const page of store.range({ ...range, limit: 1 })) {
    for (const { key } of page) return readKey(key)?.run;
  }
  return undefined;
}

/** Episodes are appended, so what is unfed begins behind the last one that was fed. */
async function* unfedEpisodes({ store, index, onDamaged }: Source, run: string): AsyncGenerator<Unfed> {
  const fed = episodesProgress(index, run);
  const { gte, lt } = rangeOf('episode', run);
  const start = fed === undefined ? { gte } : { gt: keyOf('episode', { run, seq: fed.seq }) };
  for await (const page of store.range({ ...start, lt })) {
    const entries = readable(page, onDamaged);
    if (entries.length > 0) yield { kind: 'episode', run, entries };
  }
}

/** Summaries are replaced, so each is compared by its number. */
async function* unfedSummaries({ store, index, onDamaged }: Source, run: string): AsyncGenerator<Unfed> {
  for await (const page of store.range(rangeOf('summary', run))) {
    const entries = readable(page, onDamaged).filter(({ key, seq }) => {
      const fed = summaryProgress(index, key);
      return fed === undefined || fed.seq < seq || fed.replaces !== undefined;
    });
    if (entries.length > 0) yield { kind: 'summary', run, entries };
  }
}

function readable(page: readonly RecordEntry[], onDamaged: (key: string) => void): StoredEntry[] {
  return page.flatMap((entry) => {
    if (!('damaged' in entry)) return [entry];
    onDamaged(entry.key);
    return [];
  });
}

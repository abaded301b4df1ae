/** Takes records of the record plane out of the index and out of the store, from the disk too. */
import { kindNames, recordKinds, type KindName } from '../../../shared/protocol/records.ts';
import { rangeOf, readKey } from '../plane/keys.ts';
import type { StoredEntry } from '../store/record-reader.ts';
import type { IntakeStore } from './intake-store.ts';
import type { FedIndex } from './fed-index.ts';
import { runOf } from './items.ts';
import { saysIn, type Matcher } from './matcher.ts';
import { importedMark } from '../plane/imported-mark.ts';
import type { KeptTexts } from './texts.ts';

interface Forgetting {
  readonly fed: FedIndex;
  readonly store: IntakeStore;
  readonly sources: { readonly texts: KeptTexts };
  readonly dryRun: boolean;
}

interface Wanted {
  /** Only records of this run, or of every one. */
  readonly run?: string;
  readonly isOfIt: (kind: KindName, record: Readonly<Record<string, unknown>>) => boolean;
}

export interface ForgottenRecords {
  readonly records: number;
  /** Of these, how many could be found by recall. */
  readonly items: number;
}

/** The index first: what is still in the store would be found, and deleted, by the same request again. */
export async function forgetRecordsOf(work: Forgetting, wanted: Wanted): Promise<ForgottenRecords> {
  let records = 0;
  let items = 0;
  for (const kind of kindNames) {
    const before = records;
    for await (const page of work.store.range(rangeOf(kind, wanted.run))) {
      const found = page.filter((entry): entry is StoredEntry => {
        if ('damaged' in entry) return false;
        return wanted.isOfIt(kind, JSON.parse(entry.json) as Record<string, unknown>);
      });
      records += found.length;
      if (kind === 'episode' || kind === 'summary') {
        items += found.length;
        if (!work.dryRun) await forgetItems(work, found);
      }
      if (!work.dryRun && found.length > 0) await forgetStored(work, found);
    }
    if (!work.dryRun && records > before) await work.store.compact(`${recordKinds[kind].prefix}/`);
  }
  if (wanted.run !== undefined && !work.dryRun) await forgetRun(work, wanted.run);
  return { records, items };
}

async function forgetStored({ store, fed }: Forgetting, found: readonly StoredEntry[]): Promise<void> {
  const keys = found.map(({ key }) => key);
  // With each goes the mark of an imported ruling; deleting what is not there does nothing.
  await store.commit(
    keys.flatMap((key) => [key, importedMark(key)]).map((key) => ({ type: 'del' as const, key })),
    { sync: true },
  );
  // The scan may have met a record just before the index was told of it: by now it was.
  fed.records.drop(new Set(keys));
}

/** Replies that are kept to be given again. Their requests would be done anew, which by then nobody sends. */
const repliesPrefix = 'rq/';

export async function forgetReplies(work: Forgetting, matches: Matcher): Promise<void> {
  if (work.dryRun) return;
  let found = 0;
  for await (const page of work.store.range({ gte: repliesPrefix, lt: `${repliesPrefix}\u{10ffff}` })) {
    const keys = page.flatMap((entry) =>
      !('damaged' in entry) && saysIn(JSON.parse(entry.json), matches) ? [entry.key] : [],
    );
    found += keys.length;
    if (keys.length > 0)
      await work.store.commit(
        keys.map((key) => ({ type: 'del', key })),
        { sync: true },
      );
  }
  if (found > 0) await work.store.compact(repliesPrefix);
}

async function forgetItems({ fed, sources }: Forgetting, entries: readonly StoredEntry[]): Promise<void> {
  const byRun = new Map<string, number[]>();
  for (const { key, seq } of entries) {
    const run = readKey(key)?.run ?? '';
    byRun.set(run, [...(byRun.get(run) ?? []), seq]);
  }
  for (const [run, records] of byRun) {
    await fed.index.forgetRecords(runOf(run), records);
    sources.texts.drop(runOf(run));
  }
}

async function forgetRun({ fed, sources }: Forgetting, run: string): Promise<void> {
  await fed.index.forget(runOf(run));
  await fed.records.dropProgress(run);
  sources.texts.drop(runOf(run));
}

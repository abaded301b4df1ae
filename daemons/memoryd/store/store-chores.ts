/** What can be done for a store that no memoryd has open: look at it without opening it, and take out of it what can be read. */
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Home } from '../../../shared/home.ts';
import { adoptStore } from './adopt-store.ts';
import { checkStore, verdictOf } from './check/store-check.ts';
import { checkTables } from './check/tables-check.ts';
import { readMark } from './high-water.ts';
import { lockHolderOf } from './lock-holder.ts';
import { salvage, type SalvageReport } from './salvage.ts';
import { readIfThere, storeFilesOf, syncDirectory } from './store-files.ts';

const recordsOf = (home: Pick<Home, 'store'>) => join(home.store, 'records');

interface CheckedStore {
  /** none: there was never one. locked: somebody writes it, and it cannot be judged from outside. */
  readonly state: 'whole' | 'damaged' | 'locked' | 'none';
  readonly reasons: readonly string[];
  readonly was_clean_stop: boolean;
  readonly bytes: number;
  readonly tables: number;
  readonly holder?: number;
}

/** Changes nothing, and reads every table. */
export async function checkStoreOf(home: Pick<Home, 'store'>): Promise<CheckedStore> {
  const files = storeFilesOf(recordsOf(home));
  const marker = await readIfThere(files.marker);
  const wasCleanStop = (await readIfThere(files.cleanStop)) !== undefined;
  const holder = await lockHolderOf(files);
  const report = await checkStore(files.dir);
  const facts = { was_clean_stop: wasCleanStop, bytes: report.bytes, tables: report.tables.length };
  if (holder !== undefined) return { state: 'locked', reasons: [], ...facts, holder };
  if (marker === undefined && (report.isEmpty || report.bytes === 0))
    return { state: 'none', reasons: [], ...facts };
  if (report.isEmpty) return { state: 'damaged', reasons: [`${files.dir} holds no store`], ...facts };
  const promisedThrough = readMark(files.highWater)?.operations;
  const reasons = [
    ...verdictOf(report, { promisedThrough, wasCleanStop }),
    ...(await checkTables({ tables: report.tables, isOpen: false })),
  ];
  return { state: reasons.length === 0 ? 'whole' : 'damaged', reasons, ...facts };
}

export interface SalvagedStore extends SalvageReport {
  /** Where the damaged store lies now. */
  readonly aside: string;
}

/**
 * Puts what can be read of the store in its place and the damaged one aside. A memoryd that serves beside the damaged
 * store takes the new one into use by itself.
 * @throws AppError store-locked, store-damaged
 */
export async function salvageStoreOf(home: Pick<Home, 'store'>, nowMs: number): Promise<SalvagedStore> {
  const dir = recordsOf(home);
  const stamp = new Date(nowMs).toISOString().replaceAll(':', '-');
  const fresh = `${dir}.salvaged-${stamp}`;
  const aside = `${dir}.damaged-${stamp}`;
  const report = await salvage({ from: dir, to: fresh });
  await rename(dir, aside);
  await rename(fresh, dir);
  await rm(storeFilesOf(fresh).marker, { force: true });
  await syncDirectory(home.store);
  await adoptStore(dir);
  return { ...report, aside };
}

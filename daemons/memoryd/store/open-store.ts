/** Opens a store only after it was found whole, and says exactly what is wrong with one that is not. */
import { stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../../../shared/errors.ts';
import { checkStore, type LogDefect, type StoreReport, verdictOf } from './check/store-check.ts';
import { checkTables } from './check/tables-check.ts';
import { createStore, writeMarker } from './create-store.ts';
import type { Engine } from './engine.ts';
import { type Mark, readMark } from './high-water.ts';
import { isLocked, openLevel } from './level-engine.ts';
import { lockHolderByKernel, lockHolderOf } from './lock-holder.ts';
import { isCorruption, reasonOf } from './store-errors.ts';
import { readIfThere, removeDurably, type StoreFiles } from './store-files.ts';
import type { StoreLog } from './store-log.ts';
import { formatOf, readMeta, storeFormat } from './store-meta.ts';

/** How long a start waits for a lock that is being released. */
export const lockWaitMsDefault = 2_000;
const lockDelayMsMin = 5;
const lockDelayMsMax = 150;

export interface OpenedStore {
  readonly kind: 'ready';
  readonly engine: Engine<string>;
  readonly mark: Mark;
  readonly tables: StoreReport['tables'];
  /** Else the tables are still to be checked. */
  readonly areTablesChecked: boolean;
  /** What a crash left behind the last acknowledged write, and LevelDB passed over. */
  readonly defects: readonly LogDefect[];
  readonly wasCleanStop: boolean;
}

export type Opening =
  | OpenedStore
  | { readonly kind: 'damaged'; readonly reasons: readonly string[] }
  | { readonly kind: 'newer'; readonly format: number }
  /** Nothing is known to be wrong with the store, but it cannot be opened now. */
  | { readonly kind: 'failed'; readonly cause: unknown };

export interface OpenOptions {
  readonly files: StoreFiles;
  readonly log: StoreLog;
  readonly lockWaitMs: number;
  /** Set where this process knows better than the files: after an error of its own. */
  readonly areTablesTrusted?: boolean;
}

/** @throws AppError store-locked when another process keeps the lock. */
export async function openStore(options: OpenOptions): Promise<Opening> {
  try {
    return (await prepare(options.files)) ?? (await openWhenFree(options));
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    return { kind: 'failed', cause };
  }
}

/** Makes the store where there may be none yet, and refuses what must not even be read. */
async function prepare(files: StoreFiles): Promise<Opening | undefined> {
  const marker = await readIfThere(files.marker);
  const format = marker === undefined ? storeFormat : (formatOf(marker) ?? storeFormat);
  if (format > storeFormat) return { kind: 'newer', format };
  const isThere = await isDirectory(files.dir);
  if (marker !== undefined) {
    return isThere ? undefined : damaged(`${files.dir} is missing, but a store was created there`);
  }
  const report = isThere ? await checkStore(files.dir) : undefined;
  // A crash between rename and marker, or a store that was put back by hand.
  if (report !== undefined && !report.isEmpty) return undefined;
  await createStore(files);
  return undefined;
}

/** Looks and opens, again and again while another process has the lock: what it writes must be looked at too. */
async function openWhenFree(options: OpenOptions): Promise<Opening> {
  const { files } = options;
  const deadlineMs = performance.now() + options.lockWaitMs;
  for (let delayMs = lockDelayMsMin; ; delayMs = Math.min(delayMs * 2, lockDelayMsMax)) {
    // What somebody is writing cannot be judged.
    if (lockHolderByKernel(files.dir) === undefined) {
      const opening = await checkAndOpen(options);
      if (opening !== 'locked') return opening;
    }
    if (performance.now() + delayMs > deadlineMs) throw lockedError(files, await lockHolderOf(files));
    await sleep(delayMs);
  }
}

async function checkAndOpen({ files, log, areTablesTrusted }: OpenOptions): Promise<Opening | 'locked'> {
  const wasCleanStop = (await readIfThere(files.cleanStop)) !== undefined;
  const promised = readMark(files.highWater);
  const report = await checkStore(files.dir);
  if (report.isEmpty) return damaged(`${files.dir} holds no store`);
  const reasons = verdictOf(report, { promisedThrough: promised?.operations, wasCleanStop });
  if (reasons.length > 0) return { kind: 'damaged', reasons };
  const areTablesChecked = !wasCleanStop && areTablesTrusted !== true;
  if (areTablesChecked) {
    log.info({ tables: report.tables.length }, 'checking all tables, because the last stop was not clean');
    const found = await checkTables({ tables: report.tables, isOpen: false });
    if (found.length > 0) return { kind: 'damaged', reasons: found };
  }
  let engine: Engine<string>;
  try {
    engine = await openLevel({ dir: files.dir, encoding: 'text', createIfMissing: false });
  } catch (error) {
    if (isLocked(error)) return 'locked';
    return isCorruption(error) ? damaged(reasonOf(error)) : { kind: 'failed', cause: error };
  }
  const opened = { kind: 'ready', engine, tables: report.tables, areTablesChecked, wasCleanStop } as const;
  return await confirm(files, {
    opened: { ...opened, defects: report.defects },
    operations: report.intactThrough,
    promised,
  });
}

interface Claim {
  readonly opened: Omit<OpenedStore, 'mark'>;
  readonly operations: number;
  readonly promised: Mark | undefined;
}

/** What only the open store can say; it is closed again where that is not what was promised. */
async function confirm(files: StoreFiles, { opened, operations, promised }: Claim): Promise<Opening> {
  const { engine } = opened;
  try {
    const opening = judge(readMeta(engine), promised);
    if (typeof opening === 'number') {
      await removeDurably(files.cleanStop);
      if ((await readIfThere(files.marker)) === undefined) await writeMarker(files);
      return { ...opened, mark: { seq: opening, operations } };
    }
    await engine.close();
    return opening;
  } catch (error) {
    await engine.close();
    return isCorruption(error) ? damaged(reasonOf(error)) : { kind: 'failed', cause: error };
  }
}

/** @returns the sequence number to go on from, or why the store is not to be used. */
function judge(meta: ReturnType<typeof readMeta>, promised: Mark | undefined): Opening | number {
  if (typeof meta === 'string') return damaged(meta);
  if (meta.format > storeFormat) return { kind: 'newer', format: meta.format };
  if (meta.format !== storeFormat) return damaged(`the store says that its format is ${meta.format}`);
  if (promised === undefined || meta.seq >= promised.seq) return meta.seq;
  return damaged(
    `the end of the store is lost: it knows ${meta.seq} of ${promised.seq} acknowledged sequence numbers`,
  );
}

function damaged(reason: string): Opening {
  return { kind: 'damaged', reasons: [reason] };
}

function lockedError({ dir }: StoreFiles, pid: number | undefined): AppError {
  const who = pid === undefined ? 'another process' : `process ${pid}`;
  return new AppError('store-locked', `open ${dir}: ${who} holds it`, {
    details: pid === undefined ? {} : { pid },
  });
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

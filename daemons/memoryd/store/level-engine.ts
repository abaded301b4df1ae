/** The engine on the device's disk: LevelDB, one handle for each directory, and the only importer of `level`. */
import { open as openFile, readdir } from 'node:fs/promises';
import { realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { Level } from 'level';
import { AppError } from '../../../shared/errors.ts';
import { engineOver, type Database } from './database-engine.ts';
import type { Engine, Value } from './engine.ts';

/**
 * 16 MB between two tables instead of LevelDB's 4: half the CPU of a put and a tenth
 * of the longest pause, for a start that reads up to 16 MB of log.
 */
const writeBufferBytes = 16 * 1024 * 1024;
const cacheBytes = 16 * 1024 * 1024;

export interface LevelOptions {
  readonly dir: string;
  readonly createIfMissing: boolean;
}

/** What Level has beyond the abstract database. */
interface LevelExtras {
  approximateSize(start: string, end: string): Promise<number>;
  compactRange(start: string, end: string): Promise<void>;
  batch(operations: { type: 'del'; key: string }[]): Promise<void>;
}

/**
 * Directories open in this process, by real path. A second `open` of the same one would
 * fail, and in failing close a descriptor of LOCK, which silently drops the lock of the
 * first (POSIX record locks); so it must never be tried.
 */
const openPaths = new Set<string>();

/**
 * @throws AppError store-locked where this process has it open already; else what Level
 * throws, with the reason in `cause` (see `isLocked`).
 */
export function openLevel(options: LevelOptions & { encoding: 'text' }): Promise<Engine<string>>;
export function openLevel(options: LevelOptions & { encoding: 'binary' }): Promise<Engine<Uint8Array>>;
export async function openLevel({
  dir,
  createIfMissing,
  encoding,
}: LevelOptions & { encoding: 'text' | 'binary' }): Promise<Engine<string> | Engine<Uint8Array>> {
  const path = realPathOf(dir);
  if (openPaths.has(path)) {
    throw new AppError('store-locked', `open ${path}: this process has it open already`, {
      details: { pid: process.pid },
    });
  }
  openPaths.add(path);
  const level = new Level(path, {
    keyEncoding: 'utf8',
    valueEncoding: encoding === 'text' ? 'utf8' : 'buffer',
    createIfMissing,
    writeBufferSize: writeBufferBytes,
    cacheSize: cacheBytes,
  });
  try {
    await level.open();
  } catch (error) {
    openPaths.delete(path);
    throw error;
  }
  return encoding === 'text' ? engineOf<string>(level, path) : engineOf<Uint8Array>(level, path);
}

/** Whether an error of `openLevel` says that another process, or this one, holds the directory. */
export function isLocked(error: unknown): boolean {
  if (error instanceof AppError) return error.code === 'store-locked';
  const { cause } = error as { cause?: { code?: unknown } };
  return cause?.code === 'LEVEL_LOCKED';
}

function engineOf<V extends Value>(level: unknown, path: string): Engine<V> {
  const extras = level as LevelExtras;
  return engineOver<V>(level as Database<V>, {
    flush: () => syncLogs(path),
    compact: ({ start, end }) => compactWhole(extras, start, end),
    size: ({ start, end }) => extras.approximateSize(start, end),
    closed: () => openPaths.delete(path),
  });
}

/**
 * LevelDB writes what it has in memory into a table as it is, values that were overwritten or deleted included, and
 * merges that table only with one that lies over it. So memory goes down first, and then two deletions of keys that
 * nobody has, at both ends, lie over the whole range.
 */
async function compactWhole(level: LevelExtras, start: string, end: string): Promise<void> {
  await level.compactRange(start, start);
  await level.batch([
    { type: 'del', key: `${start}\0` },
    { type: 'del', key: end },
  ]);
  await level.compactRange(start, end);
}

/**
 * Makes every write before durable. A sync write would not: when LevelDB starts a new
 * log it leaves the end of the old one unsynced until its table is written. Each
 * acknowledged write is in a log that exists now, or in a table that was synced before
 * its log was removed.
 */
async function syncLogs(path: string): Promise<void> {
  for (const name of await readdir(path)) {
    if (name.endsWith('.log')) await syncFile(join(path, name));
  }
  await syncFile(path);
}

async function syncFile(path: string): Promise<void> {
  let file;
  try {
    file = await openFile(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Absolute, links resolved; the last part need not exist yet. */
function realPathOf(dir: string): string {
  const path = resolve(dir);
  try {
    return realpathSync(path);
  } catch {
    return join(realPathOfParent(path), basename(path));
  }
}

function realPathOfParent(path: string): string {
  try {
    return realpathSync(dirname(path));
  } catch {
    return dirname(path);
  }
}

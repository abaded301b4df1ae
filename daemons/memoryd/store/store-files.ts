/** The small files that lie beside the directory of a store, and how they are made durable. */
import { open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

export interface StoreFiles {
  readonly dir: string;
  /** Says that a store was created here, and in which format: its absence later is damage. */
  readonly marker: string;
  /** There while the last stop was a clean one and no start has followed. */
  readonly cleanStop: string;
  /** How far writes were acknowledged; see high-water.ts. */
  readonly highWater: string;
  /** Who holds the lock; see lock-holder.ts. */
  readonly holder: string;
  /** Disk space to give up when there is no other; see disk-reserve.ts. */
  readonly reserve: string;
  /** Where a store is made before it gets its name. */
  readonly unfinished: string;
}

export function storeFilesOf(dir: string): StoreFiles {
  return {
    dir,
    marker: `${dir}.exists`,
    cleanStop: `${dir}.clean`,
    highWater: `${dir}.mark`,
    holder: `${dir}.holder`,
    reserve: `${dir}.reserve`,
    unfinished: `${dir}.unfinished-${process.pid}`,
  };
}

/** Whole, or as it was before; on the disk when this returns. */
export async function writeDurably(path: string, text: string): Promise<void> {
  const unfinished = `${path}.unfinished`;
  const file = await open(unfinished, 'w', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(unfinished, path);
  await syncDirectory(dirname(path));
}

export async function removeDurably(path: string): Promise<void> {
  await rm(path, { force: true });
  await syncDirectory(dirname(path));
}

/** @returns undefined where there is no such file. */
export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** New and removed names in it are on the disk when this returns. */
export async function syncDirectory(dir: string): Promise<void> {
  const handle = await open(dir, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

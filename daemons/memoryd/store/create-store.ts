/** Makes an empty store so that a crash at any moment leaves either none or a whole one. */
import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { openLevel } from './level-engine.ts';
import { type StoreFiles, syncDirectory, writeDurably } from './store-files.ts';
import { firstOperations, markerText } from './store-meta.ts';

/**
 * Under another name, synced, then renamed: a fresh LevelDB without a synced write never
 * opens again after a power cut. The marker comes last, because from then on a missing
 * store counts as damage.
 */
export async function createStore(files: StoreFiles): Promise<void> {
  const parent = dirname(files.dir);
  const first = await mkdir(parent, { recursive: true, mode: 0o700 });
  if (first !== undefined) await syncNamesOf(parent, first);
  // A rest of an earlier process with our number: an empty store, or half of one.
  await rm(files.unfinished, { recursive: true, force: true });
  await mkdir(files.unfinished, { mode: 0o700 });
  const engine = await openLevel({ dir: files.unfinished, encoding: 'text', createIfMissing: true });
  try {
    await engine.write(firstOperations(), { sync: true });
  } finally {
    await engine.close();
  }
  await syncDirectory(files.unfinished);
  if (!(await giveName(files))) return;
  await syncDirectory(parent);
  await writeMarker(files);
}

/** Of every directory that was made, from the innermost to the first. */
async function syncNamesOf(innermost: string, first: string): Promise<void> {
  for (let dir = innermost; ; dir = dirname(dir)) {
    await syncDirectory(dirname(dir));
    if (dir === first || dir === dirname(dir)) return;
  }
}

export async function writeMarker({ marker }: StoreFiles): Promise<void> {
  await writeDurably(marker, markerText());
}

/** @returns false where something has that name: another process was faster, or it is not ours. */
async function giveName({ unfinished, dir }: StoreFiles): Promise<boolean> {
  try {
    await rename(unfinished, dir);
    return true;
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOTEMPTY' || code === 'EEXIST') return false;
    throw error;
  }
}

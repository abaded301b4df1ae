/** Takes a store that was put in place on purpose, a backup or a salvaged one, as the one to go on from. */
import { rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { writeMarker } from './create-store.ts';
import { storeFilesOf, syncDirectory } from './store-files.ts';

/**
 * Without it an older copy counts as a store that lost its end. What was said of the store
 * that lay there before is forgotten: its high-water mark, and that it was stopped
 * cleanly, so that the next start checks every table. To be called while nothing has the store open.
 */
export async function adoptStore(dir: string): Promise<void> {
  const files = storeFilesOf(resolve(dir));
  for (const path of [files.highWater, files.cleanStop]) await rm(path, { force: true });
  await writeMarker(files);
  await syncDirectory(dirname(files.dir));
}

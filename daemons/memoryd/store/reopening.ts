/** Whether it makes sense to open the store again after an error of its disk. */
import { statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { DiskReserve } from './disk-reserve.ts';

/** What LevelDB writes besides the logs that it turns into tables: MANIFEST, a new log, names. */
const reopenBytes = 1024 * 1024;

/**
 * Gives up the reserve where the disk is full. False where an open would only fail
 * again, and a handle that still answers what is read would be lost for it.
 * @throws the error of the file system, where nothing can be written
 */
export async function mayReopen(
  reserve: DiskReserve,
  { dir, isFull }: { dir: string; isFull: boolean },
): Promise<boolean> {
  if (isFull) {
    await reserve.release();
    if (reserve.freeBytes < reopenBytes + (await logBytes(dir))) return false;
  }
  await reserve.probe();
  return true;
}

/** LevelDB turns its logs into tables before anything else. */
async function logBytes(dir: string): Promise<number> {
  let bytes = 0;
  for (const name of await readdir(dir)) {
    if (name.endsWith('.log')) bytes += statSync(join(dir, name), { throwIfNoEntry: false })?.size ?? 0;
  }
  return bytes;
}

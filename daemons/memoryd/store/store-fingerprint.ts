/** Tells whether anything about a store on the disk has changed, without reading any of it. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { StoreFiles } from './store-files.ts';

/** What it would take seconds to check again, if it is the same as before. */
export async function fingerprintOf({ dir, marker, cleanStop, highWater }: StoreFiles): Promise<string> {
  const names = await readdir(dir).catch(() => []);
  const paths = [
    dir,
    marker,
    cleanStop,
    highWater,
    ...names.toSorted((a, b) => (a < b ? -1 : 1)).map((name) => join(dir, name)),
  ];
  return (await Promise.all(paths.map(lineOf))).join('\n');
}

async function lineOf(path: string): Promise<string> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return `${path} -`;
  // The time of the last change of mode or name too: permission may be all that was missing.
  return `${path} ${found.dev}:${found.ino} ${found.size} ${found.mtimeMs} ${found.ctimeMs}`;
}

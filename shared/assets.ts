/** Files that ship with the code: config/ and runbook/ beside the sources, or copied into dist/ by the build. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The nearest folder above this code that holds the asset. */
export function assetPath(relative: string): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  for (;;) {
    const path = join(folder, relative);
    if (existsSync(path)) return path;
    const above = dirname(folder);
    if (above === folder) throw new Error(`the installation lacks ${relative}`);
    folder = above;
  }
}

/** The version of the project, as package.json states it; the build writes it in. */
import { createRequire } from 'node:module';

declare const LOOPKEEP_VERSION: string | undefined;

export const version: string =
  typeof LOOPKEEP_VERSION === 'string'
    ? LOOPKEEP_VERSION
    : (createRequire(import.meta.url)('../package.json') as { version: string }).version;

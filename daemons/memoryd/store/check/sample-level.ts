/** For tests: a LevelDB directory with several tables and a log, as LevelDB leaves it after a stop. */
import { copyFileSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { openLevel } from '../level-engine.ts';

export const sampleKeys = 900;
const runs = 3;

/** Three runs of 300 writes: a start turns the log of the run before into a table. */
export async function makeSampleLevel(dir: string): Promise<void> {
  for (let run = 0; run < runs; run += 1) {
    const engine = await openLevel({ dir, encoding: 'text', createIfMissing: true });
    for (let i = run * 300; i < (run + 1) * 300; i += 1) {
      const value = `value ${i} `.repeat(10 + (i % 30));
      await engine.write([{ type: 'put', key: `key ${String(i).padStart(5, '0')}`, value }], { sync: false });
    }
    await engine.close();
  }
}

/** Without LOCK, as every copy must be. */
export function copyLevel(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const name of readdirSync(from)) {
    if (name !== 'LOCK') copyFileSync(join(from, name), join(to, name));
  }
}

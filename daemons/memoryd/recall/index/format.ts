/** Which version of the index lies on the disk: another one is rebuilt, never converted. */
import type { Engine } from '../../store/engine.ts';
import { IndexDamage } from './damage.ts';
import { keys } from './keys.ts';

/**
 * `layout` counts changes of keys and values, `analysis` changes of how text becomes terms. To change either: raise
 * its number. The index is derived, so there is nothing to migrate.
 */
export const format = { layout: 2, analysis: 2 } as const;

/** The index was written by another version of this program. */
export class OtherFormat extends IndexDamage {}

export async function checkFormat(engine: Engine<Uint8Array>): Promise<void> {
  const value = engine.get(keys.meta('format'));
  const wanted = JSON.stringify(format);
  if (value === undefined) {
    for await (const _page of engine.range({ limit: 1 }))
      throw new IndexDamage('the index does not say its format');
    await engine.write([{ type: 'put', key: keys.meta('format'), value: Buffer.from(wanted) }], {
      sync: true,
    });
    return;
  }
  const found = Buffer.from(value).toString('utf8');
  if (found !== wanted) throw new OtherFormat(`the index is of format ${found.slice(0, 100)}, not ${wanted}`);
}

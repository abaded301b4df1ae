/** For tests: a home of its own for each store, and stores that leave the disk of the machine alone. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { RecordStore, type RecordStoreOptions } from './record-store.ts';

/** The place for the store of a test; gone after the tests of the file. */
export class TestHome {
  readonly #root = mkdtempSync(join(tmpdir(), 'record-store-'));
  readonly #stores = new Set<RecordStore>();
  #homes = 0;

  constructor() {
    after(async () => {
      for (const store of this.#stores) await store.close();
      rmSync(this.#root, { recursive: true, force: true });
    });
  }

  /** A path at which nothing is yet. */
  freshDir(): string {
    this.#homes += 1;
    return join(this.#root, `home-${this.#homes}`, 'store', 'records');
  }

  async open(dir: string, options: Partial<RecordStoreOptions> = {}): Promise<RecordStore> {
    const store = await RecordStore.open({
      dir,
      durable: 'all',
      minFreeBytes: 0,
      reserveBytes: 0,
      ...options,
    });
    this.#stores.add(store);
    return store;
  }
}

export async function entriesOf(
  store: Pick<RecordStore, 'range'>,
  range = {},
): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for await (const page of store.range(range)) {
    for (const entry of page) found[entry.key] = 'damaged' in entry ? 'damaged' : entry.json;
  }
  return found;
}

export const put = (key: string, json = '{}') => ({ type: 'put', key, json }) as const;

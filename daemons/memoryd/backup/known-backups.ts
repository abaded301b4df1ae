/** Where backups were made: whoever forgets something is told of them. Not exported: another device has other folders. */
import type { RecordStore } from '../store/record-store.ts';

const prefix = 'bk/';
const range = { gte: prefix, lt: 'bk0' };

/** A store that takes no write right now does not undo a backup that was made. */
export async function rememberBackup(
  store: Pick<RecordStore, 'commit'>,
  { path, at }: { path: string; at: number },
): Promise<void> {
  const json = JSON.stringify({ at_ms: at });
  await store.commit([{ type: 'put', key: prefix + path, json }]).catch(() => undefined);
}

/** Also those that cannot be seen right now: a disk that is not plugged in still has them. */
export async function knownBackups(store: Pick<RecordStore, 'range'>): Promise<string[]> {
  const paths: string[] = [];
  for await (const page of store.range(range))
    for (const { key } of page) paths.push(key.slice(prefix.length));
  return paths;
}

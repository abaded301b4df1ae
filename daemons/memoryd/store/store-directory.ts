/** Notices when the directory of an open store is taken away, and makes the names in it durable. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { syncDirectory } from './store-files.ts';

/**
 * An open store goes on writing into a directory that was removed or renamed, and
 * acknowledges what nobody will find; and LevelDB never syncs its directory, so that a
 * power cut may take a new log whole.
 */
export class StoreDirectory {
  readonly #dir: string;
  readonly #identity: string;
  readonly #lockIdentity: string;
  #syncedMtimeNs = -1n;

  /** Of a store that is open: its LOCK is there. */
  constructor(dir: string) {
    this.#dir = dir;
    this.#identity = identityOf(dir) ?? '';
    this.#lockIdentity = identityOf(join(dir, 'LOCK')) ?? '';
  }

  /** @returns why the store must not be used any more; undefined while all is well. */
  lost(): string | undefined {
    const found = identityOf(this.#dir);
    if (found === undefined) return `${this.#dir} was removed or renamed while it was open`;
    if (found !== this.#identity) return `${this.#dir} was replaced while it was open`;
    return undefined;
  }

  /** Without the file that our lock is on, another process could open the store beside us. */
  lostLock(): string | undefined {
    const isSame = identityOf(join(this.#dir, 'LOCK')) === this.#lockIdentity;
    return isSame ? undefined : `${join(this.#dir, 'LOCK')} was removed or replaced while it was held`;
  }

  /** Whether names came or went since the last `sync`. */
  hasChanged(): boolean {
    return statSync(this.#dir, { bigint: true }).mtimeNs !== this.#syncedMtimeNs;
  }

  async sync(): Promise<void> {
    // The time from before: what changes meanwhile counts as changed.
    const { mtimeNs } = statSync(this.#dir, { bigint: true });
    await syncDirectory(this.#dir);
    this.#syncedMtimeNs = mtimeNs;
  }
}

function identityOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? undefined : `${found.dev}:${found.ino}`;
}

/** The pieces of a folder of backups: each is named by its digest and written once, whole or not at all. */
import { createHash, randomUUID } from 'node:crypto';
import { access, mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../../shared/errors.ts';

export class Pieces {
  readonly #folder: string;
  written = { files: 0, bytes: 0 };

  constructor(folder: string) {
    this.#folder = folder;
  }

  async prepare(): Promise<void> {
    await this.#io(() => mkdir(this.#folder, { recursive: true, mode: 0o700 }));
  }

  /** @returns the name of the piece. @throws AppError store-full, store-write-failed */
  async put(bytes: Buffer): Promise<string> {
    const name = createHash('sha256').update(bytes).digest('hex');
    const path = join(this.#folder, name);
    if (await exists(path)) return name;
    await this.#io(() => writeDurably(path, bytes));
    this.written = { files: this.written.files + 1, bytes: this.written.bytes + bytes.length };
    return name;
  }

  async #io<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException;
      throw new AppError(
        code === 'ENOSPC' ? 'store-full' : 'store-write-failed',
        `write the backup in ${this.#folder}: ${code}`,
        {
          details: { path: this.#folder, outcome: 'not-stored' },
          cause,
        },
      );
    }
  }
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** By a temporary file, fsync, rename and fsync of the folder: never half a file under the name. */
export async function writeDurably(path: string, bytes: Buffer): Promise<void> {
  const temporary = `${path}.${randomUUID()}.tmp`;
  try {
    const file = await open(temporary, 'wx', 0o600);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  const folder = await open(join(path, '..'), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

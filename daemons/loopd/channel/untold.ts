/**
 * Sessions that were deleted while memoryd could not be told. It keeps what it knows of a log that is merely missing,
 * so it must be told some time, also after a restart: the list is a file beside the logs.
 */
import { open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { isSessionId } from '../../../shared/protocol/sessions.ts';
import type { MemoryLink } from '../memory.ts';
import { syncDirectory } from '../session/session-log.ts';

const fileName = 'deleted-untold.json';
const retryMs = 15_000;

export class Untold {
  readonly #directory: string;
  readonly #memory: Pick<MemoryLink, 'updated'>;
  readonly #ids = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  #telling: Promise<void> = Promise.resolve();
  #writing: Promise<void> = Promise.resolve();

  private constructor(directory: string, memory: Pick<MemoryLink, 'updated'>) {
    this.#directory = directory;
    this.#memory = memory;
  }

  static async open(directory: string, memory: Pick<MemoryLink, 'updated'>): Promise<Untold> {
    const untold = new Untold(directory, memory);
    for (const id of await readIds(join(directory, fileName))) untold.#ids.add(id);
    if (untold.#ids.size > 0) untold.#schedule(0);
    return untold;
  }

  get count(): number {
    return this.#ids.size;
  }

  /** On the disk before the log is deleted: a crash in between costs one needless message. */
  async add(id: string): Promise<void> {
    this.#ids.add(id);
    await this.#write();
  }

  /** The log is gone, or was not deleted after all. */
  async remove(id: string): Promise<void> {
    if (this.#ids.delete(id)) await this.#write();
  }

  /** True where memoryd knows; else it is told later. */
  async tell(id: string): Promise<boolean> {
    const isTold = await this.#memory.updated(id);
    if (isTold) await this.remove(id);
    else this.#schedule(retryMs);
    return isTold;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#telling;
    await this.#writing;
  }

  #schedule(afterMs: number): void {
    clearTimeout(this.#timer);
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => {
      this.#telling = this.#tellAll().catch(() => undefined);
    }, afterMs);
    this.#timer.unref();
  }

  async #tellAll(): Promise<void> {
    for (const id of this.#ids) if (!(await this.tell(id).catch(() => false))) return;
  }

  #write(): Promise<void> {
    this.#writing = this.#writing
      .catch(() => undefined)
      .then(() => writeIds(this.#directory, [...this.#ids]));
    return this.#writing;
  }
}

async function readIds(path: string): Promise<string[]> {
  try {
    const value: unknown = JSON.parse(await readFile(path, 'utf8'));
    return Array.isArray(value)
      ? value.filter((id): id is string => typeof id === 'string' && isSessionId(id))
      : [];
  } catch {
    // Absent, as a rule; a file that cannot be read must not stop the daemon.
    return [];
  }
}

async function writeIds(directory: string, ids: readonly string[]): Promise<void> {
  const path = join(directory, fileName);
  const file = await open(`${path}.new`, 'w', 0o600);
  try {
    await file.writeFile(`${JSON.stringify(ids)}\n`);
    await file.datasync();
  } finally {
    await file.close();
  }
  await rename(`${path}.new`, path);
  await syncDirectory(directory);
}

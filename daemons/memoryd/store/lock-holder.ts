/** Who holds the lock of a store: LevelDB cannot say, and its file LOCK must not be opened to find out. */
import { readFileSync, rmSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readIfThere, type StoreFiles } from './store-files.ts';

interface Note {
  readonly pid: number;
  /** When the process started, in clock ticks since boot: a number used again is told from it by this. */
  readonly started: string;
}

/** Left beside the store by whoever opened it. */
export async function writeHolderNote({ holder }: StoreFiles): Promise<void> {
  const note: Note = { pid: process.pid, started: startedAt(process.pid) ?? '' };
  await writeFile(holder, `${JSON.stringify(note)}\n`, { mode: 0o600 });
}

export function removeHolderNote({ holder }: StoreFiles): void {
  rmSync(holder, { force: true });
}

/**
 * The process that holds the lock, if one does and can be named: from the kernel's list
 * of locks, else from the note, if the process that it names still lives.
 */
export async function lockHolderOf(files: StoreFiles): Promise<number | undefined> {
  return lockHolderByKernel(files.dir) ?? (await holderByNote(files));
}

/** Certain where it names one; locks of processes outside our container are not listed. */
export function lockHolderByKernel(dir: string): number | undefined {
  try {
    const { dev, ino } = statSync(join(dir, 'LOCK'));
    const major = hex(((dev >> 8) & 0xfff) >>> 0);
    const minor = hex(((dev & 0xff) | ((dev >> 12) & 0xfff00)) >>> 0);
    const line = readFileSync('/proc/locks', 'latin1')
      .split('\n')
      .find((text) => text.includes(' POSIX ') && text.includes(` ${major}:${minor}:${ino} `));
    const pid = Number(line?.trim().split(/\s+/)[4]);
    return pid > 0 ? pid : undefined;
  } catch {
    return undefined;
  }
}

async function holderByNote({ holder }: StoreFiles): Promise<number | undefined> {
  try {
    const { pid, started } = JSON.parse((await readIfThere(holder)) ?? '{}') as Partial<Note>;
    return pid !== undefined && started !== '' && startedAt(pid) === started ? pid : undefined;
  } catch {
    return undefined;
  }
}

function startedAt(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name, in parentheses, may hold blanks; the start is the 20th field behind it.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}

function hex(value: number): string {
  return value.toString(16).padStart(2, '0');
}

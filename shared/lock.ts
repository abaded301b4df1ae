/** A lock on a file that one process holds at a time and that dies with it, however it ends. */
import { spawn } from 'node:child_process';
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeSync,
} from 'node:fs';
import { AppError } from './errors.ts';

export interface Lock {
  /** Gives the lock up; the file stays, because another may already wait on it. */
  release(): Promise<void>;
}

/** How long a start waits for a holder that is just ending. */
const waitMsDefault = 2000;
/** What flock(1) may take beyond its own limit, before it counts as stuck. */
const flockGraceMs = 5000;
/** A lock file that somebody replaced meanwhile is opened anew, at most this often. */
const reopensMax = 5;
const stderrCharsMax = 500;
/** The status that we ask flock(1) for when another holds the lock; its own failures have others. */
const heldStatus = 99;
const notePattern = /^(\d{1,10})\n$/;

/**
 * Locks `path` (made with 0600 where it is missing) or says who holds it.
 *
 * Node has no flock(2). The lock belongs to the open file description, not to the process that asks for it:
 * flock(1) inherits our descriptor as its fd 3, locks it and ends, and the lock stays with ours. The kernel
 * drops it when the last descriptor closes, so a SIGKILL needs no tidying up. Node opens with O_CLOEXEC:
 * no other child ever holds it.
 *
 * @throws AppError store-locked when another holds it after `waitMs`; `details.pid` where that can be known.
 * @throws AppError store-full, config-invalid when the file cannot be opened or locked at all.
 */
export async function acquireLock(path: string, { waitMs = waitMsDefault } = {}): Promise<Lock> {
  const deadline = performance.now() + waitMs;
  for (let opened = 0; opened < reopensMax; opened += 1) {
    const fd = open(path);
    try {
      await flock(fd, path, Math.max(0, deadline - performance.now()));
      if (isSameFile(fd, path)) {
        writeNote(fd, `${process.pid}\n`);
        return { release: async () => release(fd) };
      }
    } catch (error) {
      closeSync(fd);
      throw error;
    }
    // The file was replaced while we waited: what we hold is a lock on a file that nobody else can see.
    closeSync(fd);
  }
  throw new AppError('store-locked', `cannot lock ${path}: it is replaced again and again`, {
    details: { path },
  });
}

function open(path: string): number {
  try {
    // A plain number, not a FileHandle: the collector closes a forgotten FileHandle, and the lock with it.
    return openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new AppError(
      code === 'ENOSPC' || code === 'EDQUOT' ? 'store-full' : 'config-invalid',
      `cannot open the lock file ${path}: ${code ?? String(error)}`,
      { details: { path }, cause: error },
    );
  }
}

async function flock(fd: number, path: string, waitMs: number): Promise<void> {
  const wait = waitMs > 0 ? ['--timeout', (waitMs / 1000).toFixed(3)] : ['--nonblock'];
  const { status, stderr } = await runFlock(fd, waitMs, [
    '--exclusive',
    '--conflict-exit-code',
    String(heldStatus),
    ...wait,
    '3',
  ]);
  if (status === 0) return;
  if (status === 'missing') {
    throw new AppError('config-invalid', `cannot lock ${path}: flock(1) of util-linux is not installed`, {
      details: { path },
    });
  }
  if (status !== heldStatus && status !== 'stuck') {
    throw new AppError('config-invalid', `cannot lock ${path}: ${stderr || `flock ended with ${status}`}`, {
      details: { path },
    });
  }
  const pid = holderOf(fd);
  throw new AppError(
    'store-locked',
    `cannot lock ${path}: ${pid === undefined ? 'another process' : `process ${pid}`} holds it`,
    { details: pid === undefined ? { path } : { path, pid } },
  );
}

interface FlockEnd {
  status: number | 'missing' | 'stuck';
  stderr: string;
}

function runFlock(fd: number, waitMs: number, args: string[]): Promise<FlockEnd> {
  return new Promise((resolve, reject) => {
    const child = spawn('flock', args, {
      stdio: ['ignore', 'ignore', 'pipe', fd],
      env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin', LC_ALL: 'C' },
      timeout: Math.ceil(waitMs) + flockGraceMs,
      killSignal: 'SIGKILL',
    });
    let stderr = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      stderr = (stderr + chunk.toString('utf8')).slice(0, stderrCharsMax);
    });
    child.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') resolve({ status: 'missing', stderr });
      else reject(error);
    });
    child.once('close', (code) => resolve({ status: code ?? 'stuck', stderr: stderr.trim() }));
  });
}

/** The pid in the note, if that process is alive and really has this file open. */
function holderOf(fd: number): number | undefined {
  const ours = fstatSync(fd);
  const pid = Number(notePattern.exec(readNote(fd))?.[1] ?? 0);
  if (pid === 0) return undefined;
  try {
    for (const name of readdirSync(`/proc/${pid}/fd`)) {
      const theirs = statSync(`/proc/${pid}/fd/${name}`, { throwIfNoEntry: false });
      if (theirs?.ino === ours.ino && theirs.dev === ours.dev) return pid;
    }
  } catch {
    // Dead, or another user's: then the note proves nothing and no pid is named.
  }
  return undefined;
}

function isSameFile(fd: number, path: string): boolean {
  const held = fstatSync(fd);
  const there = statSync(path, { throwIfNoEntry: false });
  return there !== undefined && there.ino === held.ino && there.dev === held.dev;
}

function readNote(fd: number): string {
  return readFileSync(`/proc/self/fd/${fd}`, 'utf8');
}

/** The note only helps people; a full disk must not keep a daemon from starting. */
function writeNote(fd: number, note: string): void {
  try {
    ftruncateSync(fd, 0);
    writeSync(fd, note, 0);
  } catch {
    // The lock holds without it.
  }
}

function release(fd: number): void {
  writeNote(fd, '');
  closeSync(fd);
}

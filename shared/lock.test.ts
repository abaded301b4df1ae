/**
 * Goal: one process holds a lock, its death frees it, and whoever is refused learns who holds it.
 * Method: real files and real processes; some are killed with SIGKILL.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { AppError } from './errors.ts';
import { acquireLock } from './lock.ts';

const startersCount = 20;

function lockPath(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'loopkeep-lock-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return join(dir, 'lock');
}

/** Locks its argument, says on stdout how that went, and holds the lock until it is killed. */
const starterSource = `
  import { acquireLock } from './lock.ts';
  const [path = '', waitMs] = process.argv.slice(2);
  acquireLock(path, { waitMs: Number(waitMs) }).then(
    () => { console.log('owner'); setInterval(() => {}, 1e6); },
    (error) => console.log(error.code, error.details?.pid ?? 'unknown'),
  );`;

/** Compiled once: a process that starts through tsx takes five times as long. */
function buildStarter(): string {
  const file = join(mkdtempSync(join(tmpdir(), 'loopkeep-starter-')), 'starter.mjs');
  buildSync({
    stdin: { contents: starterSource, loader: 'ts', resolveDir: dirname(fileURLToPath(import.meta.url)) },
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile: file,
  });
  after(() => rmSync(dirname(file), { recursive: true, force: true }));
  return file;
}

const starterFile = buildStarter();

function starter(t: TestContext, path: string, waitMs: number): ChildProcess {
  const child = spawn(process.execPath, [starterFile, path, String(waitMs)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  return child;
}

async function firstLine(child: ChildProcess): Promise<string> {
  assert.ok(child.stdout);
  for await (const line of createInterface({ input: child.stdout })) return line;
  throw new Error('the child said nothing');
}

const isLocked = (pid: number | undefined) => (error: unknown) =>
  error instanceof AppError && error.code === 'store-locked' && error.details['pid'] === pid;

test('a lock that is held is refused with the pid of its holder', async (t) => {
  const path = lockPath(t);
  const lock = await acquireLock(path);

  await assert.rejects(acquireLock(path, { waitMs: 0 }), isLocked(process.pid));

  await lock.release();
  await (await acquireLock(path, { waitMs: 0 })).release();
});

test('a lock that is released while somebody waits goes to the one who waits', async (t) => {
  const path = lockPath(t);
  const lock = await acquireLock(path);
  const waiting = acquireLock(path, { waitMs: 60_000 });

  await lock.release();

  await (await waiting).release();
});

test('SIGKILL of the holder frees the lock', async (t) => {
  const path = lockPath(t);
  const holder = starter(t, path, 0);
  assert.equal(await firstLine(holder), 'owner');
  await assert.rejects(acquireLock(path, { waitMs: 0 }), isLocked(holder.pid));

  holder.kill('SIGKILL');
  await once(holder, 'exit');

  await (await acquireLock(path, { waitMs: 0 })).release();
});

test('of twenty processes that start at once exactly one becomes the owner', async (t) => {
  const path = lockPath(t);
  const starters = Array.from({ length: startersCount }, () => starter(t, path, 0));

  const said = await Promise.all(starters.map(firstLine));

  assert.equal(said.filter((line) => line === 'owner').length, 1, said.join(', '));
  assert.equal(said.filter((line) => line.startsWith('store-locked')).length, startersCount - 1);
});

test('a note whose process does not hold the file names nobody', async (t) => {
  const path = lockPath(t);
  const lock = await acquireLock(path);
  t.after(() => lock.release());

  writeFileSync(path, '1\n');

  await assert.rejects(acquireLock(path, { waitMs: 0 }), isLocked(undefined));
});

test('what the file held before is no obstacle, and the note is gone after the release', async (t) => {
  const path = lockPath(t);
  writeFileSync(path, 'not a pid at all, and longer than one');

  const lock = await acquireLock(path);

  assert.equal(readFileSync(path, 'utf8'), `${process.pid}\n`);
  await lock.release();
  assert.equal(readFileSync(path, 'utf8'), '');
});

test('a new lock file is for its owner alone, whatever the umask', async (t) => {
  const path = lockPath(t);
  const umask = process.umask(0);
  t.after(() => process.umask(umask));

  const lock = await acquireLock(path);
  t.after(() => lock.release());

  assert.equal(statSync(path).mode & 0o777, 0o600);
});

test('a lock file that was replaced meanwhile is not taken for the real one', async (t) => {
  const path = lockPath(t);
  const lock = await acquireLock(path);
  const waiting = acquireLock(path, { waitMs: 60_000 });
  writeFileSync(`${path}.new`, '');
  renameSync(`${path}.new`, path);

  await lock.release();
  const second = await waiting;
  t.after(() => second.release());

  await assert.rejects(acquireLock(path, { waitMs: 0 }), isLocked(process.pid));
});

const isConfigInvalid = (message: RegExp) => (error: unknown) =>
  error instanceof AppError && error.code === 'config-invalid' && message.test(error.message);

test('a folder that is missing and a symbolic link are named, not followed', async (t) => {
  const path = lockPath(t);
  symlinkSync('/etc/hostname', path);

  await assert.rejects(acquireLock(path), isConfigInvalid(/ELOOP/));
  await assert.rejects(acquireLock(join(path, '..', 'none', 'lock')), isConfigInvalid(/ENOENT/));
});

test('a machine without flock is told what it lacks', async (t) => {
  const path = lockPath(t);
  const before = process.env['PATH'];
  t.after(() => {
    process.env['PATH'] = before;
  });
  process.env['PATH'] = '/nonexistent';

  await assert.rejects(acquireLock(path), isConfigInvalid(/flock\(1\) of util-linux is not installed/));
});

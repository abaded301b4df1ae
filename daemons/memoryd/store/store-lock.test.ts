/** A start waits for a lock that is being released, and names in bounded time who does not release it. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../../../shared/errors.ts';
import { lockHolderOf } from './lock-holder.ts';
import { storeFilesOf } from './store-files.ts';
import { put, TestHome } from './test-home.ts';

const home = new TestHome();
const children: ChildProcess[] = [];
after(() => {
  for (const child of children) child.kill('SIGKILL');
});

/** Another process that opens the store by itself and holds it. */
async function holderOf(dir: string): Promise<ChildProcess> {
  const program = `
    const { Level } = require(process.argv[1]);
    const level = new Level(process.argv[2], { createIfMissing: false });
    level.open().then(() => console.log('open'));
    process.on('SIGTERM', () => level.close().then(() => process.exit()));
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['-e', program, levelPath, dir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  await once(child.stdout, 'data');
  return child;
}

const levelPath = createRequire(import.meta.url).resolve('level');

async function closedStore(): Promise<string> {
  const dir = home.freshDir();
  const store = await home.open(dir);
  await store.commit([put('a')]);
  await store.close();
  return dir;
}

const lockedBy = (pid: number) => (error: unknown) =>
  error instanceof AppError && error.code === 'store-locked' && error.details['pid'] === pid;

test('a lock that nobody releases is reported in bounded time, with the pid of its holder', async () => {
  const dir = await closedStore();
  const holder = await holderOf(dir);
  await assert.rejects(home.open(dir, { lockWaitMs: 300 }), lockedBy(holder.pid!));
  // The holder did not lose its lock by our looking at it.
  assert.equal(await lockHolderOf(storeFilesOf(dir)), holder.pid);
});

test('a lock that is being released is waited for', async () => {
  const dir = await closedStore();
  const holder = await holderOf(dir);
  const opening = home.open(dir);
  await sleep(200);
  holder.kill('SIGTERM');
  assert.deepEqual((await opening).state, { kind: 'ready' });
});

test('a lock that its holder left by being killed is waited for', async () => {
  const dir = await closedStore();
  const holder = await holderOf(dir);
  holder.kill('SIGKILL');
  assert.deepEqual((await home.open(dir)).state, { kind: 'ready' });
});

test('the same store twice in one process is refused, and the first goes on', async () => {
  const dir = home.freshDir();
  const store = await home.open(dir);
  await assert.rejects(home.open(dir, { lockWaitMs: 300 }), lockedBy(process.pid));
  await store.commit([put('a')]);
  assert.equal(store.get('a')?.json, '{}');
});

test('only a lock is waited for: a missing directory is reported at once, as damage', async () => {
  const dir = await closedStore();
  rmSync(dir, { recursive: true });
  const store = await home.open(dir);
  assert.equal(store.state.kind, 'damaged');
});

test('the note beside the store names its holder, and nobody when that is gone', async () => {
  const dir = home.freshDir();
  const store = await home.open(dir);
  const files = storeFilesOf(dir);
  const note = readFileSync(files.holder, 'utf8');
  assert.equal((JSON.parse(note) as { pid: number }).pid, process.pid);
  assert.equal(await lockHolderOf(files), process.pid);
  await store.close();
  assert.equal(await lockHolderOf(files), undefined);

  // Our number, used again by another process than the one that wrote the note.
  writeFileSync(files.holder, note.replace(/"started":"\d+"/, '"started":"1"'));
  assert.equal(await lockHolderOf(files), undefined);
  writeFileSync(files.holder, 'not JSON');
  assert.equal(await lockHolderOf(files), undefined);
});

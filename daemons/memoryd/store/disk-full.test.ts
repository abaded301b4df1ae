/** A disk that fills up: what was acknowledged stays, and the store goes on by itself when there is room again. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../../../shared/errors.ts';
import { RecordStore } from './record-store.ts';
import { put } from './test-home.ts';

const diskMegabytes = 12;
const laterWrites = 2_000;
const waitStepsMax = 600;

const disk = mkdtempSync(join(tmpdir(), 'disk-full-'));
const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${diskMegabytes}m`, 'tmpfs', disk]);
const isMounted = mounted.status === 0;
const skip = isMounted ? false : 'no small disk can be mounted here (it takes root)';
after(() => {
  if (isMounted) spawnSync('umount', [disk]);
  rmSync(disk, { recursive: true, force: true });
});

const record = (key: string) => put(key, JSON.stringify('x'.repeat(500)));
const freeBytes = () => statfsSync(disk).bavail * statfsSync(disk).bsize;

/** Commits one after the other until one is refused. @returns how it was refused */
async function fill(store: RecordStore, acknowledged: Set<string>): Promise<AppError> {
  for (let i = 0; ; i += 1) {
    const key = `fill/${String(i).padStart(8, '0')}`;
    try {
      await store.commit([record(key)]);
      acknowledged.add(key);
    } catch (error) {
      return error as AppError;
    }
  }
}

async function readiness(store: RecordStore): Promise<void> {
  for (let i = 0; i < waitStepsMax && store.state.kind !== 'ready'; i += 1) await sleep(50);
}

async function assertAllThere(store: RecordStore, acknowledged: ReadonlySet<string>): Promise<void> {
  const missing = new Set(acknowledged);
  for await (const page of store.range({})) {
    for (const entry of page) if (!('damaged' in entry)) missing.delete(entry.key);
  }
  assert.deepEqual([...missing].slice(0, 10), []);
}

test('a small disk is there to be filled, where all tests are required', () => {
  if (process.env['REQUIRE_ALL'] === '1') assert.ok(isMounted, String(mounted.stderr));
});

test(
  'after the disk was full nothing acknowledged is lost, and 2,000 further writes are kept',
  { skip },
  async () => {
    const dir = join(disk, 'full', 'records');
    const store = await RecordStore.open({ dir, durable: 'all', minFreeBytes: 0 });
    const filler = join(disk, 'filler');
    writeFileSync(filler, Buffer.alloc(freeBytes() - 3 * 1024 * 1024, 1));
    const acknowledged = new Set<string>();

    const refusal = await fill(store, acknowledged);
    assert.equal(refusal.code, 'store-full');
    assert.equal(refusal.details['outcome'], 'unknown');
    assert.ok(acknowledged.size > 100);
    // There is no room to open it again, so the old handle still answers what is read.
    const [first] = acknowledged;
    assert.equal(store.state.kind, 'recovering');
    assert.ok(store.get(first!) !== undefined);
    const next = await store.commit([record('next')]).catch((error: unknown) => error as AppError);
    assert.ok(next instanceof AppError);
    assert.equal(next.code, 'store-full');
    assert.equal(next.details['outcome'], 'not-stored');

    rmSync(filler);
    await readiness(store);
    assert.deepEqual(store.state, { kind: 'ready' });
    assert.equal(store.status().recoveries, 1);
    await assertAllThere(store, acknowledged);
    const later = Array.from({ length: laterWrites }, (_, i) => `later/${i}`);
    await Promise.all(
      later.map(async (key) => {
        await store.commit([record(key)]);
        acknowledged.add(key);
      }),
    );
    await store.close();

    const again = await RecordStore.open({ dir, durable: 'all', minFreeBytes: 0 });
    assert.deepEqual(again.state, { kind: 'ready' });
    await assertAllThere(again, acknowledged);
    assert.ok(acknowledged.size >= laterWrites + 100);
    await again.close();
    rmSync(join(disk, 'full'), { recursive: true });
  },
);

test(
  'below its floor the store refuses puts before the disk is full, and still deletes',
  { skip },
  async () => {
    const dir = join(disk, 'floor', 'records');
    const store = await RecordStore.open({ dir, durable: 'all' });
    await store.commit([record('a')]);
    const filler = join(disk, 'filler');
    writeFileSync(filler, Buffer.alloc(freeBytes() - 300 * 1024, 1));
    await sleep(300);

    const refusal = await store.commit([record('b')]).catch((error: unknown) => error as AppError);
    assert.ok(refusal instanceof AppError);
    assert.equal(refusal.code, 'store-full');
    assert.equal(refusal.details['outcome'], 'not-stored');
    assert.deepEqual(store.state, { kind: 'ready' });
    await store.commit([{ type: 'del', key: 'a' }]);

    rmSync(filler);
    await sleep(300);
    await store.commit([record('b')]);
    await store.close();
    rmSync(join(disk, 'floor'), { recursive: true });
  },
);

test('a disk that is full at the start is waited for, and the store opens by itself', { skip }, async () => {
  const dir = join(disk, 'start', 'records');
  const filler = join(disk, 'filler');
  writeFileSync(filler, Buffer.alloc(freeBytes(), 1));
  const store = await RecordStore.open({ dir, durable: 'all', minFreeBytes: 0, reserveBytes: 0 });
  assert.equal(store.state.kind, 'recovering');
  assert.throws(
    () => store.get('a'),
    (error) => error instanceof AppError && error.code === 'store-full',
  );

  rmSync(filler);
  await readiness(store);
  await store.commit([record('a')]);
  await store.close();
});

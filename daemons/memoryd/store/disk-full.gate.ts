/**
 * A small disk fills up again and again under many writers, and is freed again: whatever was acknowledged in
 * any round is there at the end, after a restart too. SOAK=1 for the long run.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AppError } from '../../../shared/errors.ts';
import { RecordStore } from './record-store.ts';
import { SeededRandom } from './seeded-random.ts';

const rounds = process.env['SOAK'] === '1' ? 60 : 12;
const writers = 16;
const diskMegabytes = 48;
const waitStepsMax = 1_200;
const megabyte = 1024 * 1024;

const disk = mkdtempSync(join(tmpdir(), 'disk-full-gate-'));
const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${diskMegabytes}m`, 'tmpfs', disk]);
const isMounted = mounted.status === 0;
const mayBeSkipped = process.env['REQUIRE_ALL'] !== '1';
const skip = !isMounted && mayBeSkipped ? 'no small disk can be mounted here (it takes root)' : false;
after(() => {
  if (isMounted) spawnSync('umount', [disk]);
  rmSync(disk, { recursive: true, force: true });
});

const freeBytes = () => statfsSync(disk).bavail * statfsSync(disk).bsize;

test(`${rounds} full disks lose nothing that was acknowledged`, { skip }, async (t) => {
  assert.ok(isMounted, String(mounted.stderr));
  const random = new SeededRandom();
  const dir = join(disk, 'store', 'records');
  const filler = join(disk, 'filler');
  const open = () => RecordStore.open({ dir, durable: 'all', minFreeBytes: 0 });
  /** Key to value of what is there; a key whose write failed may or may not be. */
  const acknowledged = new Map<string, string>();
  const unsure = new Set<string>();
  let store = await open();
  let refused = 0;

  /** Until the first refusal, or for so many. */
  async function write(lane: string, recordsMax = Number.POSITIVE_INFINITY): Promise<void> {
    for (let i = 0; i < recordsMax; i += 1) {
      const key = `w/${lane}/${i}`;
      const json = JSON.stringify(random.bytes(200 + random.below(2_000)).toString('hex'));
      try {
        await store.commit([{ type: 'put', key, json }]);
        acknowledged.set(key, json);
      } catch (error) {
        refused += 1;
        if ((error as AppError).details['outcome'] === 'unknown') unsure.add(key);
        return;
      }
    }
  }

  for (let round = 0; round < rounds; round += 1) {
    writeFileSync(filler, Buffer.alloc(Math.max(0, freeBytes() - megabyte - random.below(6 * megabyte)), 1));
    await Promise.all(Array.from({ length: writers }, (_, writer) => write(`${round}/${writer}`)));
    rmSync(filler);
    for (let i = 0; i < waitStepsMax && store.state.kind !== 'ready'; i += 1) await sleep(50);
    assert.deepEqual(store.state, { kind: 'ready' }, `round ${round}`);
    await write(`${round}/after`, 100);
    if (random.below(2) === 0) {
      await store.close();
      store = await open();
    }
    for (const [key, json] of acknowledged)
      assert.equal(store.get(key)?.json, json, `round ${round}: ${key}`);
    // Half of it goes again, so that the disk does not fill for good.
    const old = [...acknowledged.keys()].slice(0, acknowledged.size / 2);
    await store.commit(old.map((key) => ({ type: 'del', key })));
    for (const key of old) acknowledged.delete(key);
    await store.compact('w/');
  }

  await store.close();
  store = await open();
  assert.deepEqual(store.state, { kind: 'ready' });
  for (const [key, json] of acknowledged) assert.equal(store.get(key)?.json, json, key);
  for await (const page of store.range({})) {
    for (const { key } of page) assert.ok(acknowledged.has(key) || unsure.has(key), `${key} was refused`);
  }
  t.diagnostic(`${acknowledged.size} records, ${refused} refusals, ${unsure.size} of unknown outcome`);
  assert.ok(refused >= rounds);
  await store.close();
});

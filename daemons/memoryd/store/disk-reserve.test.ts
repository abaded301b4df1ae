/** The floor below which nothing is written, and the space that is given up to recover. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { DiskReserve } from './disk-reserve.ts';

const root = mkdtempSync(join(tmpdir(), 'disk-reserve-'));
after(() => rmSync(root, { recursive: true, force: true }));
const path = join(root, 'reserve');

test('a floor of nothing refuses nothing', () => {
  const reserve = new DiskReserve({ path, minFreeBytes: 0, reserveBytes: 0 });
  assert.equal(reserve.floorBytes, 0);
  assert.equal(reserve.isTooFull(), false);
});

test('a floor never takes more than a twentieth of the filesystem', () => {
  const reserve = new DiskReserve({ path, minFreeBytes: Number.MAX_SAFE_INTEGER, reserveBytes: 0 });
  assert.ok(reserve.floorBytes < Number.MAX_SAFE_INTEGER);
  assert.equal(reserve.isTooFull(), reserve.freeBytes < reserve.floorBytes);
});

test('the reserve takes real space, comes back after it was given up, and is not made twice', async () => {
  const reserve = new DiskReserve({ path, minFreeBytes: 0, reserveBytes: 100_000 });
  await reserve.restore();
  assert.equal(statSync(path).size, 100_000);
  assert.ok(statSync(path).blocks * 512 >= 100_000);
  const { mtimeMs } = statSync(path);
  await reserve.restore();
  assert.equal(statSync(path).mtimeMs, mtimeMs);
  await reserve.release();
  assert.equal(existsSync(path), false);
  await reserve.release();
  await reserve.restore();
  assert.equal(statSync(path).size, 100_000);
});

test('a disk that does not answer refuses nothing by itself', () => {
  const reserve = new DiskReserve({ path: join(root, 'gone', 'reserve'), minFreeBytes: 1, reserveBytes: 0 });
  assert.equal(reserve.isTooFull(), false);
});

test('a probe leaves nothing behind, and says why nothing can be written', async () => {
  await new DiskReserve({ path, minFreeBytes: 0, reserveBytes: 0 }).probe();
  assert.equal(existsSync(`${path}.probe`), false);
  const gone = new DiskReserve({ path: join(root, 'gone', 'reserve'), minFreeBytes: 0, reserveBytes: 0 });
  await assert.rejects(gone.probe(), { code: 'ENOENT' });
});

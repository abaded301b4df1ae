/** A directory or a lock file that is taken away from under an open store is noticed, and new names are synced once. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { StoreDirectory } from './store-directory.ts';

const root = mkdtempSync(join(tmpdir(), 'store-directory-'));
after(() => rmSync(root, { recursive: true, force: true }));
let dirs = 0;

function freshDirectory(): { dir: string; directory: StoreDirectory } {
  const dir = join(root, `store-${(dirs += 1)}`);
  mkdirSync(dir);
  writeFileSync(join(dir, 'LOCK'), '');
  return { dir, directory: new StoreDirectory(dir) };
}

test('while nothing is taken away nothing is lost', () => {
  const { dir, directory } = freshDirectory();
  writeFileSync(join(dir, '000003.log'), '');
  assert.equal(directory.lost(), undefined);
  assert.equal(directory.lostLock(), undefined);
});

test('a directory that was removed, renamed or replaced is lost', () => {
  const takes: ((dir: string) => void)[] = [
    (dir) => rmSync(dir, { recursive: true }),
    (dir) => renameSync(dir, `${dir}.away`),
    (dir) => {
      renameSync(dir, `${dir}.away`);
      mkdirSync(dir);
    },
  ];
  for (const take of takes) {
    const { dir, directory } = freshDirectory();
    take(dir);
    assert.match(directory.lost() ?? '', /removed or renamed|replaced/);
  }
});

test('a LOCK that was removed or made anew is lost, since another process could lock it', () => {
  const { dir, directory } = freshDirectory();
  renameSync(join(dir, 'LOCK'), join(dir, 'LOCK.old'));
  assert.match(directory.lostLock() ?? '', /removed or replaced/);
  writeFileSync(join(dir, 'LOCK'), '');
  assert.match(directory.lostLock() ?? '', /removed or replaced/);
});

test('a new name asks for a sync, once', async () => {
  const { dir, directory } = freshDirectory();
  assert.equal(directory.hasChanged(), true);
  await directory.sync();
  assert.equal(directory.hasChanged(), false);
  // A later tick of the clock that directories are stamped with.
  await new Promise((resolve) => setTimeout(resolve, 20));
  writeFileSync(join(dir, '000004.log'), '');
  assert.equal(directory.hasChanged(), true);
  await directory.sync();
  assert.equal(directory.hasChanged(), false);
});

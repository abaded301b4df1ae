/** What the record store promises to the handlers, on a real disk, across restarts. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { AppError } from '../../../shared/errors.ts';
import { openLevel } from './level-engine.ts';
import { entriesOf, put, TestHome } from './test-home.ts';

const home = new TestHome();
const codeOf = (code: string) => (error: unknown) => error instanceof AppError && error.code === code;

test('what was committed is read, with a sequence number, and is there after a restart', async () => {
  const dir = home.freshDir();
  const store = await home.open(dir);
  assert.deepEqual(store.state, { kind: 'ready' });
  const seq = store.nextSequence();
  await store.commit([{ ...put('a', '{"x":1}'), seq }, put('b', '{"x":2}')]);
  assert.deepEqual(store.get('a'), { seq, json: '{"x":1}' });
  assert.deepEqual(await store.getMany(['b', 'none']), [{ seq: seq + 1, json: '{"x":2}' }, undefined]);
  await store.close();

  const again = await home.open(dir);
  assert.deepEqual(again.get('a'), { seq, json: '{"x":1}' });
  assert.deepEqual(await entriesOf(again), { a: '{"x":1}', b: '{"x":2}' });
  assert.equal(again.status().wasCleanStop, true);
});

test('a commit is all or nothing, and deletes too', async () => {
  const store = await home.open(home.freshDir());
  await store.commit([put('a'), put('b')]);
  await store.commit([{ type: 'del', key: 'a' }, put('c')]);
  assert.deepEqual(Object.keys(await entriesOf(store)), ['b', 'c']);
  await assert.rejects(store.commit([put('d'), put('meta/seq')]), codeOf('internal'));
  assert.deepEqual(Object.keys(await entriesOf(store)), ['b', 'c']);
});

test('commits that wait together take effect in the order they were made', async () => {
  const store = await home.open(home.freshDir());
  const commits = Array.from({ length: 200 }, (_, i) =>
    store.commit([put('same', String(i)), put(`k${i % 7}`, String(i))]),
  );
  await Promise.all(commits);
  assert.equal(store.get('same')?.json, '199');
  assert.equal(store.get('k3')?.json, '199');
  // 200 commits went down in far fewer writes.
  assert.ok(store.status().groups < 20);
});

test('sequence numbers rise strictly and are never given twice, across restarts too', async () => {
  const dir = home.freshDir();
  let last = 0;
  for (let run = 0; run < 3; run += 1) {
    const store = await home.open(dir);
    for (let i = 0; i < 10; i += 1) {
      const seq = store.nextSequence();
      assert.ok(seq > last);
      last = seq;
      await store.commit([{ ...put(`k${seq}`), seq }]);
    }
    await store.close();
  }
});

test('a number that was given out but never stored does not look like a lost end', async () => {
  const dir = home.freshDir();
  const store = await home.open(dir);
  await store.commit([put('a')]);
  for (let i = 0; i < 100; i += 1) store.nextSequence();
  await store.flush();
  await store.close();
  assert.deepEqual((await home.open(dir)).state, { kind: 'ready' });
});

test('a snapshot and a scan do not see what is written after they began', async () => {
  const store = await home.open(home.freshDir());
  await store.commit([put('a', '1'), put('b', '1')]);
  const snapshot = store.snapshot();
  await store.commit([put('a', '2'), { type: 'del', key: 'b' }]);
  assert.equal(snapshot.get('a')?.json, '1');
  assert.deepEqual(await entriesOf(snapshot), { a: '1', b: '1' });
  assert.equal((await snapshot.getMany(['b']))[0]?.json, '1');
  await snapshot.close();
  assert.deepEqual(await entriesOf(store), { a: '2' });
});

test('a range knows bounds, order and limit, and never shows the keys of the store itself', async () => {
  const store = await home.open(home.freshDir());
  await store.commit(['a', 'm', 'n', 'z'].map((key) => put(key)));
  assert.deepEqual(Object.keys(await entriesOf(store)), ['a', 'm', 'n', 'z']);
  assert.deepEqual(Object.keys(await entriesOf(store, { gte: 'm', lt: 'z', reverse: true, limit: 1 })), [
    'n',
  ]);
});

test('keys that could collide or be mistaken are refused, and nothing is stored', async () => {
  const store = await home.open(home.freshDir());
  for (const key of ['', 'meta/x', 'a\ud800', 'a\0b', 'k'.repeat(5_000)]) {
    await assert.rejects(store.commit([put(key)]), codeOf('internal'));
  }
  await assert.rejects(store.commit([put('a', ' '.repeat(16 * 1024 * 1024 + 1))]), codeOf('rejected'));
  assert.deepEqual(await entriesOf(store), {});
});

test('a damaged record is reported by its key and does not hide the others', async () => {
  const dir = home.freshDir();
  const store = await home.open(dir);
  await store.commit([put('a', '1'), put('b', '2'), put('c', '3')]);
  await store.close();
  // What LevelDB stores and returns without complaint, as after a compaction of damaged data.
  const engine = await openLevel({ dir, encoding: 'text', createIfMissing: false });
  await engine.write([{ type: 'put', key: 'b', value: engine.get('b')!.replace(/2$/, '7') }], { sync: true });
  await engine.close();

  const again = await home.open(dir);
  assert.throws(
    () => again.get('b'),
    (error) => codeOf('store-damaged')(error) && (error as AppError).details['key'] === 'b',
  );
  await assert.rejects(again.getMany(['a', 'b']), codeOf('store-damaged'));
  assert.deepEqual(await entriesOf(again), { a: '1', b: 'damaged', c: '3' });
  assert.deepEqual(await again.verify(), {
    records: 3,
    damaged: 1,
    damagedKeys: ['b'],
    sequenceMax: 3,
    ahead: 0,
  });
});

test('after a close nothing is accepted, and what was accepted before is done', async () => {
  const dir = home.freshDir();
  const store = await home.open(dir);
  const commits = Array.from({ length: 50 }, (_, i) => store.commit([put(`k${i}`)]));
  const closing = store.close();
  await assert.rejects(store.commit([put('late')]), codeOf('stopping'));
  assert.throws(() => store.get('k0'), codeOf('stopping'));
  assert.throws(() => store.nextSequence(), codeOf('stopping'));
  await closing;
  await Promise.all(commits);
  await store.close();
  assert.equal(Object.keys(await entriesOf(await home.open(dir))).length, 50);
});

test('with durability "checkpoint" everything is there too, and a flush can be waited for', async () => {
  const dir = home.freshDir();
  const store = await home.open(dir, { durable: 'checkpoint' });
  await store.commit([put('rides along')]);
  await store.commit([put('asked')], { sync: true });
  await store.flush();
  await store.close();
  assert.deepEqual(Object.keys(await entriesOf(await home.open(dir))), ['asked', 'rides along']);
});

test('size and compact work on a prefix, and what was deleted leaves the disk', async () => {
  const dir = home.freshDir();
  const store = await home.open(dir);
  const secret = 'a very particular sentence';
  await store.commit([put('x/1', JSON.stringify(secret)), put('y/1')]);
  await store.compact('x/');
  assert.ok((await store.size('x/')) >= 0);
  await store.commit([{ type: 'del', key: 'x/1' }]);
  await store.compact('x/');
  assert.ok((await store.size()) > 0);
  await store.close();
  for (const name of readdirSync(dir)) {
    if (name !== 'LOCK') assert.ok(!readFileSync(join(dir, name), 'latin1').includes(secret), name);
  }
});

test('everything that is made is for the owner alone', async () => {
  const before = process.umask(0o077);
  const dir = home.freshDir();
  const store = await home.open(dir, { reserveBytes: 4_096 });
  await store.commit([put('a')]);
  await store.close();
  process.umask(before);
  for (const folder of [dir, dirname(dir)]) {
    assert.equal(statSync(folder).mode & 0o077, 0, folder);
    for (const name of readdirSync(folder)) assert.equal(statSync(join(folder, name)).mode & 0o077, 0, name);
  }
});

test('numbers that records brought along are passed over', async () => {
  const dir = home.freshDir();
  const store = await home.open(dir);
  store.advanceTo(500);
  store.advanceTo(3);
  await store.commit([{ ...put('imported'), seq: 500 }]);
  assert.equal(store.nextSequence(), 501);
  await store.close();
  assert.equal((await home.open(dir)).nextSequence(), 501);
});

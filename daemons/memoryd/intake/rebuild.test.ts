/** Goal: an index may be damaged or rebuilt at any time, and recall answers. Method: damage to the file, faults from the index. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'node:test';
import { IndexDamage } from '../recall/index/damage.ts';
import { episode, IntakeFixture } from './testing/intake-fixture.ts';

/** Waits for what happens by itself; a test that waits in vain fails by the runner's time. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(5);
}

test('a damaged index is set aside and rebuilt from logs and records at the start', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  f.say('s', 'red kettle');
  await f.put('episode', episode('r', 'blue kettle'), 1);
  await f.intake.caughtUp();
  await f.restart();
  await f.stop();
  writeFileSync(join(f.indexDir, 'index.json'), 'not what an index wrote');
  await f.start();

  assert.deepEqual(await f.found('kettle'), ['blue kettle', 'red kettle']);
  assert.equal(f.intake.status().index.state, 'ok');
  assert.ok(existsSync(`${f.indexDir}.damaged`));
});

test('an index that was deleted while memoryd was down comes back', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  f.say('s', 'red kettle');
  await f.intake.updated('s');
  await f.stop();
  rmSync(f.indexDir, { recursive: true });
  await f.start();

  assert.deepEqual(await f.found('kettle'), ['red kettle']);
});

test('an index of another version is read anew, and says that it catches up, not that it is damaged', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  f.say('s', 'red kettle');
  await f.intake.updated('s');
  await f.stop();
  writeFileSync(join(f.indexDir, 'index.json'), '{"format":2}');
  await f.open();
  const before = await f.intake.recall({ query: 'kettle' });
  await f.intake.caughtUp();

  assert.deepEqual([before.hits.length, before.index.state], [0, 'catching-up']);
  assert.deepEqual(await f.found('kettle'), ['red kettle']);
});

test('memory-index-damaged is answered only while there is nothing to answer with', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  f.say('s', 'red kettle');
  f.say('s2', 'blue kettle');
  await f.intake.caughtUp();
  await f.stop();
  writeFileSync(join(f.indexDir, 'index.json'), 'damage');
  await f.open();

  await assert.rejects(f.intake.recall({ query: 'kettle' }), { code: 'memory-index-damaged' });
  await f.intake.updated('s');
  const partly = await f.intake.recall({ query: 'kettle' });
  await f.intake.caughtUp();

  assert.deepEqual([partly.hits.length, partly.index.state], [1, 'damaged']);
  assert.deepEqual(await f.found('kettle'), ['blue kettle', 'red kettle']);
  assert.equal((await f.intake.recall({ query: 'kettle' })).index.state, 'ok');
});

test('damage that is met while it answers: what remains is answered from, and another is built beside', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  f.say('s', 'red kettle');
  await f.intake.updated('s');
  const before = f.index;
  before.fault = new IndexDamage('a block is unreadable');
  f.say('s', 'blue kettle');

  const deferred = await f.intake.updated('s');
  const during = await f.intake.recall({ query: 'kettle' });
  await until(() => f.intake.status().index.state === 'ok');

  assert.deepEqual([deferred.indexed, deferred.behind], [2, 1]);
  assert.ok(during.index.state === 'damaged' || during.hits.length === 2);
  assert.ok(during.hits.length > 0);
  assert.notEqual(f.index, before);
  assert.deepEqual(await f.found('kettle'), ['blue kettle', 'red kettle']);
});

test('damage that the index reports by itself is mended likewise', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  f.say('s', 'red kettle');
  await f.intake.updated('s');
  const before = f.index;
  before.state = 'damaged';
  await f.intake.recall({ query: 'kettle' });
  await until(() => f.index !== before && f.intake.status().index.state === 'ok');

  assert.deepEqual(await f.found('kettle'), ['red kettle']);
});

test('a disk that fails a write is reported, and the index opened again rather than thrown away', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  f.say('s', 'red kettle');
  await f.intake.updated('s');
  const before = f.index;
  before.fault = Object.assign(new Error('IO error: No space left on device'), { code: 'LEVEL_IO_ERROR' });
  f.say('s', 'blue kettle');

  await assert.rejects(f.intake.updated('s'), { code: 'store-full' });
  await until(() => f.index !== before);
  await f.intake.updated('s');

  assert.deepEqual(await f.found('kettle'), ['blue kettle', 'red kettle']);
  assert.equal(existsSync(`${f.indexDir}.damaged`), false);
});

test('a reindex answers throughout, and with everything that came meanwhile', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  for (let at = 0; at < 20; at += 1) f.say(`s${at}`, `kettle ${at}`);
  await f.put('episode', episode('r', 'kettle of a run'), 1);
  await f.intake.caughtUp();
  const before = f.index;

  const progress = { isDone: false };
  const reindex = f.intake.reindex().finally(() => {
    progress.isDone = true;
  });
  const counts = new Set<number>();
  while (!progress.isDone) {
    counts.add((await f.found('kettle')).length);
    if (counts.size === 1) {
      f.say('late', 'kettle that came late');
      await f.intake.updated('late');
    }
  }
  const reply = await reindex;

  assert.deepEqual(
    [...counts].filter((count) => count < 21),
    [],
  );
  assert.equal(reply.state, 'ok');
  assert.ok(reply.records >= 41);
  assert.notEqual(f.index, before);
  assert.equal((await f.found('kettle')).length, 22);
  assert.deepEqual(readdirSync(dirname(f.indexDir)), ['index']);
});

test('a reindex without the folder of the logs is refused: it would be a forgetting', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  f.say('s', 'red kettle');
  await f.intake.updated('s');
  rmSync(f.sessionsDir, { recursive: true });

  await assert.rejects(f.intake.reindex(), { code: 'session-damaged' });
  assert.equal(f.intake.status().index['turns'], 1);
});

test('what was forgotten during a reindex is not in the new index', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  f.say('a', 'kettle of a');
  f.say('b', 'kettle of b');
  await f.intake.caughtUp();
  const reindex = f.intake.reindex();
  const forgotten = f.intake.forget({ session: 'a' });
  await Promise.all([reindex, forgotten]);

  assert.deepEqual(await f.found('kettle'), ['kettle of b']);
});

test('verify finds an index equal to a rebuild, and says where it is not', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  f.say('a', 'kettle of a');
  f.say('b', 'kettle of b');
  await f.put('episode', episode('r', 'kettle of a run'), 1);
  await f.intake.caughtUp();

  const live = f.index;
  assert.deepEqual(await f.intake.verify(), { equal: true, differences: [] });
  await live.forgetRecords({ kind: 'session', id: 'a' }, [1]);
  const { equal, differences } = await f.intake.verify();

  assert.equal(equal, false);
  assert.ok(differences.length > 0);
  assert.deepEqual(readdirSync(dirname(f.indexDir)), ['index']);
});

test('what a kill left of a rebuild is cleared away, and an index taken half away is put back', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  f.say('s', 'red kettle');
  await f.intake.updated('s');
  await f.stop();
  const { cpSync, renameSync } = await import('node:fs');
  cpSync(f.indexDir, `${f.indexDir}.next`, { recursive: true });
  cpSync(f.indexDir, `${f.indexDir}.verify`, { recursive: true });
  renameSync(f.indexDir, `${f.indexDir}.old`);
  await f.open();

  assert.deepEqual(await f.found('kettle'), ['red kettle']);
  assert.deepEqual(readdirSync(dirname(f.indexDir)), ['index']);
});

test('beside a damaged store, sessions are read and found all the same', async (t) => {
  const f = await IntakeFixture.create(t);
  f.store.fault = new Error('store-damaged');
  f.say('s', 'red kettle');
  await f.open();
  await assert.rejects(f.intake.caughtUp(), /store-damaged/);

  assert.deepEqual(await f.found('kettle'), ['red kettle']);
});

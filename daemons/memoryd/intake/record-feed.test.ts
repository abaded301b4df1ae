/** Goal: each episode and summary can be found once, as it is now. Method: a store in memory, and kills between its steps. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { episode, IntakeFixture, summary } from './testing/intake-fixture.ts';

test('episodes and summaries are found as records of their run, with the number that the store gave them', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  await f.put('episode', episode('run/1', 'kettle built'), 11);
  await f.put('summary', { ...summary('run/1', 2, 'kettle sum'), narrative: 'a long story' }, 12);
  await f.put('ledger', { run_id: 'run/1', detail: 'kettle in a ledger' }, 13);
  await f.intake.caughtUp();
  const { hits } = await f.intake.recall({ query: 'kettle' });

  assert.deepEqual(
    hits.map(({ source, run, record, role, text }) => ({ source, run, record, role, text })),
    [
      { source: 'episode', run: 'run/1', record: 11, role: 'run', text: 'kettle built' },
      {
        source: 'summary',
        run: 'run/1',
        record: 12,
        role: 'run',
        text: 'kettle sum\nfact of kettle sum\na long story',
      },
    ],
  );
});

test('a record that was stored before the question is found without a look through the store', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  const record = episode('r', 'red kettle');
  f.intake.onRecord({ kind: 'episode', key: await f.put('episode', record, 1), seq: 1, record });

  assert.deepEqual(await f.found('kettle'), ['red kettle']);
});

test('of a summary that was written again the new text alone is found', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  for (const [at, colour] of ['red', 'blue', 'green'].entries()) {
    const record = summary('r', 1, `${colour} kettle`);
    f.intake.onRecord({ kind: 'summary', key: await f.put('summary', record, at + 1), seq: at + 1, record });
    await f.intake.caughtUp();
  }

  assert.deepEqual(await f.found('kettle'), ['green kettle\nfact of green kettle']);
});

test('a kill between the new text of a summary and the end of the old one is finished at the next start', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  await f.put('summary', summary('r', 1, 'red kettle'), 1);
  await f.intake.caughtUp();
  f.index.forgetRecords = () => Promise.reject(new Error('killed'));
  await f.put('summary', summary('r', 1, 'blue kettle'), 2);
  await assert.rejects(f.intake.caughtUp(), /killed/);
  await f.restart();

  assert.deepEqual(await f.found('kettle'), ['blue kettle\nfact of blue kettle']);
  assert.equal(f.index.status()['turns'], 1);
});

test('a summary that was written again after such a kill is found by its newest text alone', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  await f.put('summary', summary('r', 1, 'red kettle'), 1);
  await f.intake.caughtUp();
  f.index.forgetRecords = () => Promise.reject(new Error('killed'));
  await f.put('summary', summary('r', 1, 'blue kettle'), 2);
  await assert.rejects(f.intake.caughtUp(), /killed/);
  await f.put('summary', summary('r', 1, 'green kettle'), 3);
  await f.restart();

  assert.deepEqual(await f.found('kettle'), ['green kettle\nfact of green kettle']);
  assert.equal(f.index.status()['turns'], 1);
});

test('what was stored while nobody listened is read at the start, run by run, and nothing twice', async (t) => {
  const f = await IntakeFixture.create(t);
  for (let seq = 1; seq <= 60; seq += 1) await f.put('episode', episode(`r${seq % 3}`, `kettle ${seq}`), seq);
  await f.start();
  assert.equal((await f.found('kettle')).length, 60);

  for (let seq = 61; seq <= 70; seq += 1)
    await f.put('episode', episode(`r${seq % 7}`, `kettle ${seq}`), seq);
  await f.restart();
  await f.restart();

  assert.equal((await f.found('kettle')).length, 70);
  assert.equal(f.index.status()['turns'], 70);
});

test('more records than the queue holds are read from the store', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  for (let seq = 1; seq <= 1300; seq += 1) {
    const record = episode('r', `kettle ${seq}`);
    f.intake.onRecord({ kind: 'episode', key: await f.put('episode', record, seq), seq, record });
  }
  const behind = f.intake.status().index.behind;
  await f.intake.caughtUp();

  assert.ok(behind > 0);
  assert.equal(f.intake.status().index.behind, 0);
  assert.equal(f.index.status()['turns'], 1300);
});

test('a record that cannot be read hides no other', async (t) => {
  const f = await IntakeFixture.create(t);
  await f.put('episode', episode('r', 'kettle one'), 1);
  const key = await f.put('episode', episode('r', 'kettle two'), 2);
  await f.put('episode', episode('r', 'kettle three'), 3);
  await f.store.damage(key);
  await f.start();

  assert.deepEqual(await f.found('kettle'), ['kettle one', 'kettle three']);
});

test('of an episode that failed without output its error is found', async (t) => {
  const f = await IntakeFixture.create(t);
  await f.put('episode', { ...episode('r', ''), error: 'kettle exploded' }, 1);
  await f.start();

  assert.deepEqual(await f.found('kettle'), ['kettle exploded']);
});

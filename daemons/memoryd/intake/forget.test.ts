/** Goal: what is forgotten stays so, wherever one of its traces is lost. Method: forget, then lose, rebuild, restart. */
import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, rmSync } from 'node:fs';
import { test } from 'node:test';
import { baseline, episode, IntakeFixture, summary } from './testing/intake-fixture.ts';

test('a forgotten session is gone, counted, and stays gone though its log is still there', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  f.say('a', 'kettle of a', 'more kettle');
  f.say('b', 'kettle of b');
  await f.intake.caughtUp();

  const dry = await f.intake.forget({ session: 'a', dry_run: true });
  const stillThere = await f.found('kettle');
  const reply = await f.intake.forget({ session: 'a' });
  f.say('a', 'kettle again');
  await f.intake.updated('a');
  await f.restart();
  await f.intake.reindex();

  assert.deepEqual({ ...dry, dry_run: false }, reply);
  assert.equal(stillThere.length, 3);
  assert.deepEqual(reply, {
    dry_run: false,
    sessions: ['a'],
    records: 0,
    curated: [],
    index: 2,
    baselines: [],
    backups: [],
  });
  assert.deepEqual(await f.found('kettle'), ['kettle of b']);
  assert.equal((await f.intake.recall({ query: 'kettle' })).forgotten, 1);
  assert.deepEqual(f.curated.sessions, ['a'], 'the curated files were asked to forget it, once');
});

for (const lost of ['index', 'store'] as const) {
  test(`a forgotten session stays gone when the ${lost} loses its tombstone`, async (t) => {
    const f = await IntakeFixture.caughtUp(t);
    f.say('a', 'kettle of a');
    await f.intake.updated('a');
    await f.intake.forget({ session: 'a' });
    await f.stop();
    if (lost === 'index') rmSync(f.indexDir, { recursive: true });
    else await f.store.commit([{ type: 'del', key: 'fg/a' }]);
    await f.start();
    await f.intake.updated('a');
    assert.deepEqual(await f.found('kettle'), []);

    await f.stop();
    if (lost === 'store') rmSync(f.indexDir, { recursive: true });
    else await f.store.commit([{ type: 'del', key: 'fg/a' }]);
    await f.start();
    assert.deepEqual(await f.found('kettle'), [], 'the other copy was completed meanwhile');
  });
}

test('a forgotten session does not come back with its old log, but its id may be used for another one', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  f.say('a', 'kettle of a');
  f.say('b', 'spoon');
  await f.intake.caughtUp();
  copyFileSync(f.path('a'), `${f.home}/backup`);
  f.delete('a');
  await f.intake.updated('a');

  copyFileSync(`${f.home}/backup`, f.path('a'));
  await f.intake.updated('a');
  await f.restart();
  const afterOld = await f.found('kettle');
  f.nowMs += 60_000;
  f.begin('a');
  f.say('a', 'kettle of another a');
  await f.intake.updated('a');
  await f.restart();

  assert.deepEqual(afterOld, []);
  assert.deepEqual(await f.found('kettle'), ['kettle of another a']);
  assert.equal((await f.intake.recall({ query: 'kettle' })).forgotten, 0);
});

test('a kill between tombstone and index leaves the session forgotten at the next start', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  f.say('a', 'kettle of a');
  await f.intake.updated('a');
  const tombstone = { atMs: 1, whole: true };
  await f.store.commit([{ type: 'put', key: 'fg/a', json: JSON.stringify(tombstone) }]);
  await f.restart();

  assert.deepEqual(await f.found('kettle'), []);
});

test('a forgotten run leaves nothing in index or store, and other runs stay', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  await f.put('episode', episode('r', 'kettle of r'), 1);
  await f.put('summary', summary('r', 1, 'kettle sum'), 2);
  await f.put('checkpoint', { run_id: 'r' }, 3);
  await f.put('skill_trial', { run_id: 'r', skill: 's' }, 4);
  await f.put('skill_trial', { run_id: 'r/2', skill: 's' }, 5);
  await f.put('episode', episode('r/2', 'kettle of r/2'), 6);
  await f.intake.caughtUp();

  const reply = await f.intake.forget({ run_id: 'r' });
  await f.put('episode', episode('r', 'kettle of a new r'), 7);
  await f.intake.caughtUp();

  assert.deepEqual([reply.records, reply.index], [4, 2]);
  assert.deepEqual(await f.found('kettle'), ['kettle of a new r', 'kettle of r/2']);
  const keys = await f.store.keys();
  assert.deepEqual(
    keys.filter((key) => !key.startsWith('ep/')),
    [`st/${'5'.padStart(20, '0')}`],
  );
  assert.ok(f.store.compacted.includes('ep/') && f.store.compacted.includes('st/'));
});

test('a text is forgotten wherever it is said, and the report says where', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  f.begin('a', { baseline: baseline('she lives in Ｅlm Street') });
  f.say('a', 'I live in elm  street', 'I like tea');
  f.write('a', { type: 'assistant', turn: 0, step: 0, text: '', reasoning: 'elm street?', finish: 'stop' });
  f.say('b', 'coffee');
  await f.put('episode', episode('r', 'ELM STREET 5'), 1);
  await f.put('scratchpad', { run_id: 'r', key: 'note', value: 'elm street' }, 2);
  await f.put('episode', episode('r', 'oak avenue'), 3);
  f.curated.entries.user.push('lives in Elm Street', 'likes tea');
  await f.intake.caughtUp();

  const dry = await f.intake.forget({ text: 'Elm Street', dry_run: true });
  const reply = await f.intake.forget({ text: 'Elm Street' });

  assert.deepEqual({ ...dry, dry_run: false }, reply);
  assert.deepEqual(reply, {
    dry_run: false,
    sessions: ['a'],
    records: 2,
    curated: [{ file: 'user', entries: 1 }],
    index: 2,
    baselines: ['a'],
    backups: [],
  });
  assert.deepEqual(await f.found('e'), ['I like tea', 'coffee', 'oak avenue']);
  assert.deepEqual(f.curated.entries.user, ['likes tea']);
  await f.intake.reindex();
  assert.deepEqual(
    await f.found('e'),
    ['I like tea', 'coffee', 'oak avenue'],
    'after a rebuild from the same logs',
  );
  assert.deepEqual(await f.intake.verify(), { equal: true, differences: [] });
});

for (const what of [{ run_id: 'r' }, { text: 'kettle' }]) {
  test(`a record that waits for the index is forgotten by its ${Object.keys(what).join()} too`, async (t) => {
    const f = await IntakeFixture.caughtUp(t);
    for (const [at, text] of ['kettle of r', 'more kettle'].entries()) {
      const record = at === 0 ? episode('r', text) : summary('r', 1, text);
      const kind = at === 0 ? 'episode' : 'summary';
      f.intake.onRecord({ kind, key: await f.put(kind, record, at + 1), seq: at + 1, record });
    }
    const { records } = await f.intake.forget(what);
    await f.intake.caughtUp();

    assert.equal(records, 2);
    assert.deepEqual(await f.found('kettle'), []);
    assert.deepEqual(await f.intake.verify(), { equal: true, differences: [] });
  });
}

test('a reply that was kept for a repeated request is forgotten by its text', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  const reply = { digest: 'd', reply: { entries: ['she lives in Elm Street'] }, at_ms: 1 };
  await f.store.commit([{ type: 'put', key: 'rq/loop/1', json: JSON.stringify(reply) }]);
  await f.store.commit([{ type: 'put', key: 'rq/loop/2', json: '{"digest":"d","reply":{},"at_ms":1}' }]);
  await f.intake.forget({ text: 'elm street' });

  assert.deepEqual(await f.store.keys(), ['rq/loop/2']);
});

test('tombstones that an import brought forget what is in the index', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  f.say('a', 'kettle');
  await f.intake.updated('a');
  await f.store.commit([{ type: 'put', key: 'fg/a', json: '{"atMs":1,"whole":true}' }]);
  await f.intake.reloadForgotten();

  assert.deepEqual(await f.found('kettle'), []);
});

test('a log rewritten without the forgotten lines is read anew as it is', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  f.say('a', 'my kettle', 'my secret spoon', 'my fork');
  await f.intake.updated('a');
  await f.intake.forget({ text: 'secret' });
  f.begin('a');
  f.say('a', 'my kettle', 'my fork', 'my knife');
  await f.intake.updated('a');

  assert.deepEqual(await f.found('my'), ['my fork', 'my kettle', 'my knife']);
});

test('nothing of what is forgotten is left in the files of the index', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  f.say('a', 'xylophone');
  f.say('b', 'the xylophone, and tea');
  await f.intake.caughtUp();
  await f.intake.forget({ text: 'xylophone' });

  assert.doesNotMatch(readFileSync(`${f.indexDir}/index.json`, 'utf8'), /xylophone/);
  assert.equal(f.index.settled, 1, 'it was asked to let go of it at once');
});

test('forget takes one thing to forget, and a session that there was', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  f.say('a', 'kettle');

  await assert.rejects(f.intake.forget({}), { name: 'ParamsError' });
  await assert.rejects(f.intake.forget({ session: 'a', text: 'b' }), { name: 'ParamsError' });
  await assert.rejects(f.intake.forget({ text: ' \u3000 ' }), { name: 'ParamsError' });
  await assert.rejects(f.intake.forget({ session: 'nobody' }), { code: 'session-unknown' });
  copyFileSync(f.path('a'), `${f.sessionsDir}/../a.jsonl`);
  for (const session of ['../a', 'a\0', 'a/../a', ''])
    await assert.rejects(f.intake.forget({ session }), { code: 'session-unknown' }, session);
  await f.intake.forget({ session: 'a' });
  assert.equal((await f.intake.forget({ session: 'a' })).index, 0);
});

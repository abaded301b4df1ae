/**
 * Goal: what is on the disk can be found, whatever happened to the logs meanwhile. Method: real logs in a temporary
 * folder, written as loopd writes them, and an index that keeps words in a file.
 */
import assert from 'node:assert/strict';
import {
  appendFileSync,
  mkdirSync,
  renameSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { IntakeFixture } from './testing/intake-fixture.ts';

test('what a session said is found as soon as updated has answered', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  f.say('s', 'the kettle is red');

  assert.deepEqual(await f.intake.updated('s'), { session: 's', indexed: 2, behind: 0 });
  assert.deepEqual(await f.found('kettle'), ['the kettle is red']);
});

test('a half-written line is found once, when it is complete', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  f.say('s', 'first');
  const line = `${f.line('s', { type: 'turn', turn: 1, text: 'second kettle' })}\n`;

  appendFileSync(f.path('s'), line.slice(0, 60));
  const half = await f.intake.updated('s');
  appendFileSync(f.path('s'), line.slice(60));
  const whole = await f.intake.updated('s');
  await f.intake.updated('s');

  assert.deepEqual([half.indexed, half.behind, whole.indexed], [2, 0, 3]);
  assert.deepEqual(await f.found('kettle'), ['second kettle']);
});

test('a session that was read before is read on when it has grown', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  f.say('s', 'one kettle');
  await f.intake.updated('s');
  f.say('s', 'two kettles');
  await f.intake.updated('s');

  assert.deepEqual(await f.found('kettle'), ['one kettle', 'two kettles']);
});

test('updates that nobody sent cost nothing: a start reads every log on', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  f.say('a', 'kettle of a');
  await f.intake.updated('a');
  await f.stop();
  f.say('a', 'more kettle of a');
  f.say('b', 'kettle of b');
  await f.start();

  assert.deepEqual(await f.found('kettle'), ['kettle of a', 'kettle of b', 'more kettle of a']);
  const reply = await f.intake.recall({ query: 'kettle' });
  assert.deepEqual(reply.index, { state: 'ok', behind: 0 });
});

test('what was written before the question is found, though no update said so', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  f.intake.start();
  await f.intake.caughtUp();
  f.say('s', 'the kettle is red');

  assert.deepEqual(await f.found('kettle'), ['the kettle is red']);
});

test('while it catches up it answers, with the newest first, and says how much is behind', async (t) => {
  const f = await IntakeFixture.create(t);
  for (const [at, session] of ['old', 'older', 'new'].entries()) {
    f.say(session, `kettle of ${session}`, 'filler');
    utimesSync(f.path(session), 1000, session === 'new' ? 2000 : 1000 - at);
  }
  await f.open();
  let isHeld = false;
  const held = new Promise<void>((resolve) => {
    f.index.onAppend = async (facts) => {
      if (facts.id === 'new') return;
      isHeld = true;
      resolve();
      await release;
    };
  });
  let letGo = () => {};
  const release = new Promise<void>((resolve) => {
    letGo = resolve;
  });

  const caughtUp = f.intake.caughtUp();
  await held;
  const during = await f.intake.recall({ query: 'kettle' });
  letGo();
  await caughtUp;

  assert.equal(isHeld, true);
  assert.deepEqual(
    during.hits.map(({ text }) => text),
    ['kettle of new'],
  );
  assert.deepEqual(during.index, { state: 'catching-up', behind: 6 });
  assert.deepEqual((await f.intake.recall({ query: 'kettle' })).index, { state: 'ok', behind: 0 });
});

test('a kill between two batches leaves each record in the index once', async (t) => {
  const f = await IntakeFixture.create(t);
  const texts = Array.from({ length: 400 }, (_, at) => `kettle number ${at} ${'x'.repeat(1200)}`);
  f.say('s', ...texts);
  await f.open();
  f.index.onAppend = async () => {
    if (f.index.appends > 1) throw new Error('killed');
  };
  await f.intake.caughtUp();
  const partly = (await f.found('kettle')).length;
  await f.restart();

  assert.ok(partly > 0 || f.intake.status().index.behind === 0);
  assert.equal((await f.intake.recall({ query: 'kettle', limit: 5000 })).hits.length, 400);
});

test('a log that was rewritten is read anew, and nothing of the old one is found', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  f.say('s', 'red kettle', 'blue kettle', 'green kettle');
  await f.intake.updated('s');

  f.begin('s');
  f.say('s', 'red kettle', 'green kettle');
  const reply = await f.intake.updated('s');

  assert.equal(reply.indexed, 3);
  assert.deepEqual(await f.found('kettle'), ['green kettle', 'red kettle']);
});

test('a log that was cut and grew past the offset again is read anew', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  f.say('s', 'red kettle', 'blue kettle of some length');
  await f.intake.updated('s');

  f.begin('s');
  truncateSync(f.path('s'), 0);
  f.begin('s');
  f.say('s', 'white kettle', 'black kettle that is a good deal longer than the one before');
  await f.intake.updated('s');

  assert.deepEqual(await f.found('kettle'), [
    'black kettle that is a good deal longer than the one before',
    'white kettle',
  ]);
});

test('a log that was replaced by a copy of itself goes on where it was', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  f.say('s', 'red kettle');
  await f.intake.updated('s');
  const { readFileSync } = await import('node:fs');
  writeFileSync(f.path('copy.tmp'), readFileSync(f.path('s')));
  renameSync(f.path('copy.tmp'), f.path('s'));
  f.say('s', 'blue kettle');
  await f.intake.updated('s');

  assert.deepEqual(await f.found('kettle'), ['blue kettle', 'red kettle']);
});

test('a log deleted beside others, and said to be, is forgotten, and stays so across a rebuild', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  f.say('a', 'kettle of a');
  f.say('b', 'kettle of b');
  await f.intake.updated('a');
  await f.intake.updated('b');
  f.delete('a');

  assert.deepEqual(await f.intake.updated('a'), { session: 'a', indexed: 0, behind: 0 });
  const reply = await f.intake.recall({ query: 'kettle' });
  assert.deepEqual(
    reply.hits.map(({ session }) => session),
    ['b'],
  );
  assert.equal(reply.forgotten, 1);
  await f.intake.reindex();
  assert.deepEqual(await f.found('kettle'), ['kettle of b']);
});

test('the only log, deleted in a folder that is still the same, is forgotten', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  f.say('a', 'kettle');
  await f.intake.updated('a');
  f.delete('a');
  await f.intake.updated('a');

  assert.deepEqual(await f.found('kettle'), []);
});

test('a folder that is another, or none, drops nothing, whoever says that a log is gone', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  f.say('a', 'kettle');
  await f.intake.updated('a');

  renameSync(f.sessionsDir, `${f.sessionsDir}.unmounted`);
  const without = await f.intake.updated('a');
  mkdirSync(f.sessionsDir);
  const empty = await f.intake.updated('a');
  await f.intake.caughtUp();
  const { sessions } = f.intake.status();
  rmSync(f.sessionsDir, { recursive: true });
  renameSync(`${f.sessionsDir}.unmounted`, f.sessionsDir);

  assert.deepEqual([without.indexed, empty.indexed], [2, 2]);
  assert.deepEqual(sessions.missing, ['a']);
  assert.deepEqual(await f.found('kettle'), ['kettle']);
});

test('a log that is missing at a start is told, and nothing of it is dropped', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  f.say('a', 'kettle');
  f.say('b', 'spoon');
  await f.intake.updated('a');
  renameSync(f.path('a'), `${f.path('a')}.away`);
  await f.restart();
  const { sessions } = f.intake.status();
  renameSync(`${f.path('a')}.away`, f.path('a'));
  await f.intake.caughtUp();

  assert.deepEqual([sessions.missing, sessions.logs], [['a'], 1]);
  assert.deepEqual(f.intake.status().sessions.missing, []);
  assert.deepEqual(await f.found('kettle'), ['kettle']);
});

test('a missing log whose session is forgotten is missing no longer', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  f.say('a', 'kettle');
  f.say('b', 'spoon');
  await f.intake.caughtUp();
  f.delete('a');
  await f.restart();
  const before = f.intake.status().sessions.missing;
  await f.intake.forget({ session: 'a' });

  assert.deepEqual([before, f.intake.status().sessions.missing], [['a'], []]);
});

test('a session that never was, and what is no session id, is unknown', async (t) => {
  const f = await IntakeFixture.caughtUp(t);

  for (const session of ['nobody', '', '../etc/passwd', 'a/b', '.hidden', 'x'.repeat(129), '__proto__'])
    await assert.rejects(f.intake.updated(session), { code: 'session-unknown' }, session);
});

test('a hundred updates of one session at once read it once or twice, and all are right', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  f.say('s', 'kettle');
  const replies = await Promise.all(Array.from({ length: 100 }, () => f.intake.updated('s')));

  assert.ok(replies.every(({ indexed, behind }) => indexed === 2 && behind === 0));
  assert.equal(f.index.appends, 1);
});

test('what is no log, a folder or a pipe, is no session, and hides none', async (t) => {
  const f = await IntakeFixture.create(t);
  f.say('good', 'kettle of good');
  mkdirSync(f.path('bad'));
  execFileSync('mkfifo', [f.path('pipe')]);
  writeFileSync(f.path('no id!'), 'x');
  await f.start();

  assert.deepEqual(await f.found('kettle'), ['kettle of good']);
  assert.equal(f.intake.status().sessions.logs, 1);
  for (const session of ['bad', 'pipe'])
    await assert.rejects(f.intake.updated(session), { code: 'session-unknown' });
});

test('lines that hold no record are counted by kind, and those around them are found', async (t) => {
  const f = await IntakeFixture.create(t);
  f.say('s', 'kettle one');
  appendFileSync(f.path('s'), '{"v":1,"seq":2,"at":"202');
  f.say('s', 'kettle two');
  appendFileSync(f.path('s'), 'noise\n\xff\xfe\n');
  appendFileSync(f.path('s'), `${'x'.repeat(70_000)}\n`);
  f.say('s', 'kettle three');
  await f.start({ lineBytesMax: 64 * 1024 });

  assert.deepEqual(await f.found('kettle'), ['kettle one', 'kettle three', 'kettle two']);
  assert.deepEqual(f.intake.status().sessions['lines'], {
    unreadable: 2,
    oversized: 1,
    salvaged: 1,
    repeated: 0,
  });
});

test('hundreds of logs are all worked through', async (t) => {
  const f = await IntakeFixture.create(t);
  for (let at = 0; at < 200; at += 1) f.begin(`s${at}`);
  f.say('s7', 'kettle seven');
  await f.start();

  assert.deepEqual(f.intake.status().sessions.missing, []);
  assert.equal(f.intake.status().sessions.logs, 200);
  assert.equal(f.intake.status().index.behind, 0);
  assert.deepEqual(await f.found('kettle'), ['kettle seven']);
});

/** Goal: who must be alone is, and nobody waits for ever. Method: works that end when the test says so. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Coalesced } from './coalesced.ts';
import { Gate } from './gate.ts';
import { Lanes } from './lanes.ts';

/** A work that has begun, and ends when it is told. */
function work(log: string[], name: string) {
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  return {
    end: () => end(),
    run: async () => {
      log.push(`${name} begins`);
      await ended;
      log.push(`${name} ends`);
      return name;
    },
  };
}

const turnOfLoop = () => new Promise((resolve) => setImmediate(resolve));

test('one that wants to be alone waits for those inside, and goes before those who come later', async () => {
  const log: string[] = [];
  const gate = new Gate();
  const [first, second, alone, later] = ['first', 'second', 'alone', 'later'].map((name) => work(log, name));
  assert.ok(first && second && alone && later);
  const all = [gate.together(first.run), gate.together(second.run), gate.alone(alone.run)];
  all.push(gate.together(later.run));
  await turnOfLoop();
  assert.equal(gate.isWanted, true);
  for (const one of [second, first, alone, later]) {
    one.end();
    await turnOfLoop();
  }
  await Promise.all(all);

  assert.deepEqual(log, [
    'first begins',
    'second begins',
    'second ends',
    'first ends',
    'alone begins',
    'alone ends',
    'later begins',
    'later ends',
  ]);
  assert.equal(gate.isWanted, false);
});

test('a work that fails opens the gate again', async () => {
  const gate = new Gate();
  const fail = () => Promise.reject(new Error('no'));

  await assert.rejects(gate.alone(fail));
  await assert.rejects(gate.together(fail));
  assert.equal(await gate.alone(async () => 1), 1);
  assert.equal(await gate.together(async () => 2), 2);
});

test('who asks while a work runs shares one more run, which sees what was there when they asked', async () => {
  const log: string[] = [];
  const coalesced = new Coalesced<string>();
  const first = work(log, 'first');
  const second = work(log, 'second');
  const one = coalesced.run('k', first.run);
  const others = [1, 2, 3].map(() => coalesced.run('k', second.run));
  const apart = coalesced.run('other key', async () => 'apart');
  await turnOfLoop();
  assert.deepEqual(log, ['first begins']);
  first.end();
  second.end();

  assert.deepEqual(await Promise.all([one, ...others, apart]), [
    'first',
    'second',
    'second',
    'second',
    'apart',
  ]);
  assert.deepEqual(log, ['first begins', 'first ends', 'second begins', 'second ends']);
  await turnOfLoop();
  assert.equal(coalesced.size, 0);
});

test('a work that fails fails for those who waited for it alone', async () => {
  const coalesced = new Coalesced<number>();
  const first = coalesced.run('k', () => Promise.reject(new Error('no')));
  const second = coalesced.run('k', async () => 2);

  await assert.rejects(first);
  assert.equal(await second, 2);
});

test('no more works run at once than there are lanes, and all run', async () => {
  const lanes = new Lanes(3);
  let running = 0;
  let most = 0;
  const results = await Promise.all(
    Array.from({ length: 20 }, (_, at) =>
      lanes.run(async () => {
        running += 1;
        most = Math.max(most, running);
        await turnOfLoop();
        running -= 1;
        return at;
      }),
    ),
  );

  assert.equal(most, 3);
  assert.equal(results.length, 20);
});

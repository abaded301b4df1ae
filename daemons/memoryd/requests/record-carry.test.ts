/** Goal: an iteration is told what those before it found, whole and in order. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PlaneFixture, sparse } from '../plane/plane-fixture.ts';

async function withSummaries(...iterations: number[]): Promise<PlaneFixture> {
  const plane = await PlaneFixture.open();
  for (const iteration of iterations) {
    await plane.put('summary', { ...sparse.summary, iteration, headline: `did ${iteration}`, facts: [] });
  }
  return plane;
}

const carry = async (plane: PlaneFixture, depth: number) =>
  (await plane.call('record/carry', { run_id: 'r', depth })).text;

test('a summary renders as heading, headline, a bullet a fact, and its trimmed narrative', async () => {
  const plane = await PlaneFixture.open();
  await plane.put('summary', {
    ...sparse.summary,
    iteration: 3,
    headline: 'Parser works',
    facts: ['12 of 14 pass', 'two lines\nof one fact'],
    narrative: '\n It went well.\n\nMostly. \n',
  });
  assert.equal(
    await carry(plane, 1),
    '### Iteration 3\nParser works\n- 12 of 14 pass\n- two lines\n  of one fact\n\nIt went well.\n\nMostly.',
  );
});

test('a narrative of nothing but white space is none', async () => {
  const plane = await PlaneFixture.open();
  await plane.put('summary', { ...sparse.summary, narrative: ' \n' });
  assert.equal(await carry(plane, 1), '### Iteration 1\nh\n- f');
});

test('the last summaries are carried, in the order of their iterations', async () => {
  const plane = await withSummaries(10, 9, 2, 100);
  assert.equal(await carry(plane, 2), '### Iteration 10\ndid 10\n\n### Iteration 100\ndid 100');
  assert.equal((await carry(plane, 1000)).match(/### /g)?.length, 4);
  assert.equal(await carry(plane, 0), '');
});

test('a run without summaries carries nothing, and never those of another', async () => {
  const plane = await withSummaries(1);
  await plane.put('summary', { ...sparse.summary, run_id: 'r/x', headline: 'theirs' });
  assert.deepEqual(await plane.call('record/carry', { run_id: 'nobody', depth: 5 }), { text: '' });
  assert.equal(await carry(plane, 5), '### Iteration 1\ndid 1');
});

test('more than 1 MiB is not carried: older summaries are left out and counted, the last never', async () => {
  const plane = await PlaneFixture.open();
  for (const [iteration, size] of [
    [1, 10],
    [2, 500_000],
    [3, 1_200_000],
    [4, 10],
  ] as const) {
    await plane.put('summary', { ...sparse.summary, iteration, narrative: 'x'.repeat(size) });
  }
  const all = await plane.call('record/carry', { run_id: 'r', depth: 9 });
  assert.deepEqual([all.text.match(/### Iteration \d/g), all.left_out], [['### Iteration 4'], 3]);

  await plane.put('summary', { ...sparse.summary, iteration: 5, narrative: 'x'.repeat(1_200_000) });
  const last = await plane.call('record/carry', { run_id: 'r', depth: 2 });
  assert.deepEqual([last.text.match(/### Iteration \d/g), last.left_out], [['### Iteration 5'], 1]);
});

test('a summary that cannot be read is named, and the others are carried', async () => {
  const plane = await withSummaries(1, 2, 3);
  const key = 'su/r/00000000000000000002';
  await plane.store.damage(key);
  const reply = await plane.call('record/carry', { run_id: 'r', depth: 3 });
  assert.deepEqual(reply, { text: '### Iteration 1\ndid 1\n\n### Iteration 3\ndid 3', damaged: [key] });
});

test('a run_id that no key can hold is refused by name', async () => {
  const plane = await PlaneFixture.open();
  const error = await plane
    .call('record/carry', { run_id: 'x'.repeat(513), depth: 1 })
    .catch((thrown: unknown) => thrown);
  assert.equal((error as { code: string }).code, 'rejected');
});

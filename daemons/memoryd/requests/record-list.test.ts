/** Goal: a listing shows everything that is there, once, in order and in bounded pages, and nothing of anybody else. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { ParamsError } from '../../../shared/params-error.ts';
import { memorydProtocol } from '../../../shared/protocol/memoryd.ts';
import { checkOf } from '../../../shared/schema-check.ts';
import { PlaneFixture, sparse } from '../plane/plane-fixture.ts';

interface Listed {
  readonly pages: number;
  readonly keys: string[];
  readonly damaged: string[];
}

async function listAll(plane: PlaneFixture, params: object): Promise<Listed> {
  const listed = { pages: 0, keys: [] as string[], damaged: [] as string[] };
  let cursor: string | undefined;
  do {
    const page = await plane.call('record/list', { ...params, ...(cursor === undefined ? {} : { cursor }) });
    listed.pages += 1;
    listed.keys.push(...page.records.map(({ key }) => key));
    listed.damaged.push(...(page.damaged ?? []));
    cursor = page.next;
  } while (cursor !== undefined);
  return listed;
}

async function withLedger(count: number, runs: readonly string[] = ['r']): Promise<PlaneFixture> {
  const plane = await PlaneFixture.open();
  for (let at = 0; at < count; at += 1) {
    await plane.put('ledger', { ...sparse.ledger, run_id: runs[at % runs.length], detail: String(at) });
  }
  return plane;
}

test('pages of any size, in either order, show every record once', async () => {
  const plane = await withLedger(23);
  const all = (await listAll(plane, { kind: 'ledger', limit: 1000 })).keys;
  assert.equal(all.length, 23);
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 30 }),
      fc.constantFrom('asc', 'desc'),
      async (limit, order) => {
        const { keys, pages } = await listAll(plane, { kind: 'ledger', run_id: 'r', limit, order });
        assert.deepEqual(keys, order === 'asc' ? all : all.toReversed());
        assert.equal(pages, Math.ceil(23 / limit), 'the last page says that it is the last');
      },
    ),
    { numRuns: 40 },
  );
});

test('without a limit a page has 100 records', async () => {
  const plane = await withLedger(101);
  const { records, next } = await plane.call('record/list', { kind: 'ledger' });
  assert.deepEqual([records.length, typeof next], [100, 'string']);
});

test('a list of one run never shows what another wrote, and one without a run shows all', async () => {
  const runs = ['a', 'a/b', 'a%2Fb', 'a0', 'a\0', 'A', 'a '];
  const plane = await withLedger(runs.length * 2, runs);
  for (const run of runs) {
    const { records } = await plane.call('record/list', { kind: 'ledger', run_id: run });
    assert.deepEqual(
      records.map(({ record }) => record['run_id']),
      [run, run],
    );
  }
  assert.equal((await listAll(plane, { kind: 'ledger', limit: 3 })).keys.length, runs.length * 2);
  assert.deepEqual((await plane.call('record/list', { kind: 'episode' })).records, []);
});

test('what is written while a listing goes on is shown at its place, and nothing twice', async () => {
  const plane = await withLedger(4);
  const first = await plane.call('record/list', { kind: 'ledger', limit: 2 });
  await plane.put('ledger', sparse.ledger);
  const rest = await plane.call('record/list', { kind: 'ledger', cursor: first.next });
  assert.deepEqual(
    rest.records.map(({ seq }) => seq),
    [3, 4, 5],
  );
});

test('a reply is at most 1 MiB, but for a single record that is larger', async () => {
  const plane = await PlaneFixture.open();
  // Two bytes a character: what counts is the length on the wire.
  for (let at = 0; at < 12; at += 1) {
    await plane.put('episode', { ...sparse.episode, output: 'é'.repeat(at === 5 ? 700_000 : 100_000) });
  }
  let cursor: string | undefined;
  const counts: number[] = [];
  do {
    const page = await plane.call('record/list', {
      kind: 'episode',
      limit: 1000,
      ...(cursor === undefined ? {} : { cursor }),
    });
    counts.push(page.records.length);
    assert.ok(page.records.length === 1 || Buffer.byteLength(JSON.stringify(page)) <= 1024 * 1024);
    cursor = page.next;
  } while (cursor !== undefined);
  assert.deepEqual(counts, [5, 1, 5, 1]);
});

test('a record that cannot be read is named and hides no other', async () => {
  const plane = await withLedger(5);
  const { keys: all } = await listAll(plane, { kind: 'ledger' });
  await plane.store.damage(all[1] ?? '');
  await plane.store.damage(all[4] ?? '');
  for (const limit of [1, 2, 100]) {
    for (const order of ['asc', 'desc']) {
      const { keys, damaged } = await listAll(plane, { kind: 'ledger', limit, order });
      const turned = (list: unknown[]) => (order === 'asc' ? list : list.toReversed());
      assert.deepEqual(keys, turned([all[0], all[2], all[3]]));
      assert.deepEqual(damaged, turned([all[1], all[4]]));
    }
  }
});

test('a part of the store that cannot be read is told beside what can', async () => {
  const plane = await withLedger(3);
  await plane.put('skill_trial', sparse.skill_trial);
  await plane.put('summary', sparse.summary);
  plane.store.hasLostBlock = true;
  for (const limit of [2, 3, 100]) {
    const { keys, damaged } = await listAll(plane, { kind: 'ledger', run_id: 'r', limit });
    assert.deepEqual([keys.length, damaged], [3, ['lg/r/']]);
  }
  assert.deepEqual((await plane.call('record/scores', {})).damaged, ['st/']);
  assert.deepEqual((await plane.call('record/carry', { run_id: 'r', depth: 3 })).damaged, ['su/r/']);
  await assert.rejects(plane.call('record/list', { kind: 'episode' }), { code: 'store-damaged' });
});

test('a record whose text is no JSON is one that cannot be read', async () => {
  const plane = await PlaneFixture.open();
  await plane.put('goal_state', sparse.goal_state, { run_id: 'r' });
  await plane.store.commit([{ type: 'put', key: 'gs/r/s', json: '{no JSON}' }]);
  const { keys, damaged } = await listAll(plane, { kind: 'goal_state' });
  assert.deepEqual([keys, damaged], [['gs/r/t'], ['gs/r/s']]);
});

test('a cursor of another listing, or none at all, is refused by name', async () => {
  const plane = await withLedger(4, ['a', 'b']);
  const { next } = await plane.call('record/list', { kind: 'ledger', run_id: 'a', limit: 1 });
  for (const params of [
    { kind: 'ledger', run_id: 'b', cursor: next },
    { kind: 'episode', cursor: next },
    { kind: 'ledger', run_id: 'a', order: 'desc', cursor: next },
    { kind: 'ledger', run_id: 'a', cursor: `${next}=` },
    { kind: 'ledger', run_id: 'a', cursor: '' },
    { kind: 'ledger', run_id: 'a', cursor: 'é\0' },
    { kind: 'ledger', run_id: 'a', cursor: Buffer.from('asc lg/').toString('base64url') },
    { kind: 'ledger', run_id: 'a', cursor: Buffer.from([0xff, 0xfe]).toString('base64url') },
  ]) {
    await assert.rejects(
      plane.call('record/list', params),
      (thrown) => thrown instanceof ParamsError && thrown.field === 'cursor',
      JSON.stringify(params),
    );
  }
});

test('the cursor of the longest key is one that can be sent', async () => {
  const plane = await PlaneFixture.open();
  const run = '%'.repeat(512);
  for (const key of ['%'.repeat(511), '%'.repeat(512)])
    await plane.put('scratchpad', { run_id: run, key, value: '' });
  const { next } = await plane.call('record/list', { kind: 'scratchpad', run_id: run, limit: 1 });
  const { params } = memorydProtocol['record/list'];
  assert.equal(checkOf(params)({ kind: 'scratchpad', run_id: run, cursor: next }), undefined);
  assert.equal(
    (await plane.call('record/list', { kind: 'scratchpad', run_id: run, cursor: next })).records.length,
    1,
  );
});

test('the trials of one run are found among those of all', async () => {
  const plane = await PlaneFixture.open();
  for (let at = 0; at < 10; at += 1) {
    await plane.put('skill_trial', { ...sparse.skill_trial, run_id: at % 3 === 0 ? 'a' : 'b' });
  }
  const { keys, pages } = await listAll(plane, { kind: 'skill_trial', run_id: 'a', limit: 2 });
  assert.deepEqual([keys.length, pages], [4, 2]);
  assert.equal((await listAll(plane, { kind: 'skill_trial', limit: 3 })).keys.length, 10);
});

test('a listing that passes over much still answers, and goes on where it stopped', async () => {
  const plane = await PlaneFixture.open();
  const json = JSON.stringify({ ...sparse.skill_trial, run_id: 'b' });
  const put = (at: number, text = json) =>
    ({ type: 'put', key: `st/${String(at).padStart(20, '0')}`, json: text }) as const;
  await plane.store.commit(Array.from({ length: 10_500 }, (_, at) => put(at)));
  await plane.store.commit([put(10_500, JSON.stringify({ ...sparse.skill_trial, run_id: 'a' }))]);
  const first = await plane.call('record/list', { kind: 'skill_trial', run_id: 'a' });
  assert.deepEqual([first.records.length, typeof first.next], [0, 'string']);
  const { keys, pages } = await listAll(plane, { kind: 'skill_trial', run_id: 'a' });
  assert.deepEqual([keys.length, pages], [1, 2]);
});

test('a run_id that no key can hold is refused by name', async () => {
  const plane = await PlaneFixture.open();
  const error = await plane
    .call('record/list', { kind: 'ledger', run_id: 'x'.repeat(513) })
    .catch((thrown: unknown) => thrown);
  const { code, details } = error as { code: string; details: Record<string, unknown> };
  assert.deepEqual([code, details['field']], ['rejected', 'run_id']);
});

test('runs are those with a checkpoint, in key order, page by page, damaged or not', async () => {
  const plane = await PlaneFixture.open();
  const runs = ['b', 'a/b', 'a', '😀', '\uffff', 'a%'];
  for (const run of runs) await plane.put('checkpoint', { ...sparse.checkpoint, run_id: run });
  await plane.put('ledger', { ...sparse.ledger, run_id: 'no checkpoint' });
  await plane.store.damage('ck/b');

  const all = await plane.call('record/runs', {});
  assert.deepEqual(all, { runs: ['a', 'a%', 'a/b', 'b', '\uffff', '😀'] });

  const first = await plane.call('record/runs', { limit: 4 });
  const second = await plane.call('record/runs', { limit: 4, cursor: first.next });
  assert.deepEqual([...first.runs, ...second.runs], all.runs);
  assert.equal(second.next, undefined);
});

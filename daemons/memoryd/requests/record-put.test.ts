/** Goal: what a put stores is whole, in order, and as durable as its kind promises. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kindNames, lifetimesMs, proposalKinds, recordKinds } from '../../../shared/protocol/records.ts';
import { beside, PlaneFixture, sparse } from '../plane/plane-fixture.ts';

const keys = {
  episode: 'ep/r/00000000000000000001',
  goal_state: 'gs/r/t',
  ledger: 'lg/r/00000000000000000001',
  checkpoint: 'ck/r',
  scratchpad: 'sp/r/k',
  summary: 'su/r/00000000000000000001',
  skill_trial: 'st/00000000000000000001',
  proposal: 'pr/r/00000000000000000001',
};

for (const kind of kindNames) {
  test(`${kind} is stored whole under its key, and the index is told`, async () => {
    const plane = await PlaneFixture.open();

    const reply = await plane.put(kind, sparse[kind], beside(kind));

    const isAppended = recordKinds[kind].write === 'append';
    assert.deepEqual(reply, isAppended ? { key: keys[kind], seq: 1 } : { key: keys[kind] });
    const stored = plane.store.get(keys[kind]);
    assert.equal(stored?.seq, 1);
    const record = JSON.parse(stored.json) as Record<string, unknown>;
    assert.deepEqual(Object.keys(record), Object.keys(recordKinds[kind].value['properties'] as object));
    const expiresMs = kind === 'proposal' ? { expires_ms: 5 + lifetimesMs.try_skill } : {};
    assert.deepEqual(record, { ...recordKinds[kind].absent, ...sparse[kind], ...expiresMs });
    assert.deepEqual(plane.told, [{ kind, key: keys[kind], seq: 1, record }]);
  });

  test(`an optional field of ${kind} that is null is stored as one that is absent`, async () => {
    const plane = await PlaneFixture.open();
    const nulls = Object.fromEntries(Object.keys(recordKinds[kind].absent).map((field) => [field, null]));

    const { key } = await plane.put(kind, sparse[kind], beside(kind));
    const absent = plane.store.get(key)?.json;
    const again = await plane.put(kind, { ...nulls, ...sparse[kind] }, beside(kind));

    assert.equal(plane.store.get(again.key)?.json, absent);
  });
}

test('a kind that appends keeps what was there, in order; one that replaces keeps the last', async () => {
  const plane = await PlaneFixture.open();
  for (const detail of ['a', 'b']) {
    await plane.put('ledger', { ...sparse.ledger, detail });
    await plane.put('scratchpad', { ...sparse.scratchpad, value: detail });
  }

  const ledger = await plane.call('record/list', { kind: 'ledger' });
  const notes = await plane.call('record/list', { kind: 'scratchpad' });

  assert.deepEqual(
    ledger.records.map(({ seq, record }) => [seq, record['detail']]),
    [
      [1, 'a'],
      [3, 'b'],
    ],
  );
  assert.deepEqual(notes.records, [{ key: 'sp/r/k', record: { ...sparse.scratchpad, value: 'b' } }]);
});

test('puts that do not wait for each other take their place in the order they were sent', async () => {
  const plane = await PlaneFixture.open();
  const details = Array.from({ length: 20 }, (_, at) => String(at));

  await Promise.all(details.map((detail) => plane.put('ledger', { ...sparse.ledger, detail })));

  const { records } = await plane.call('record/list', { kind: 'ledger' });
  assert.deepEqual(
    records.map(({ record }) => record['detail']),
    details,
  );
});

test('a checkpoint is on the disk before the reply, whatever the store is set to', async () => {
  const plane = await PlaneFixture.open();
  await plane.put('checkpoint', sparse.checkpoint);
  await plane.put('ledger', sparse.ledger);
  assert.deepEqual(
    plane.store.commits.map(({ sync }) => sync),
    [true, false],
  );
});

test('a put with a request_id is done once, and its reply is kept in the commit of the record', async () => {
  const plane = await PlaneFixture.open();
  const put = (detail: string) => plane.put('ledger', { ...sparse.ledger, detail }, { request_id: 'one' });

  const replies = await Promise.all([put('a'), put('a')]);
  replies.push(await put('a'));

  assert.deepEqual(
    replies,
    Array.from({ length: 3 }, () => ({ key: keys.ledger, seq: 1 })),
  );
  assert.deepEqual(plane.store.commits, [{ operations: 2, sync: false }]);
  assert.equal(plane.told.length, 1);
  await assert.rejects(put('b'), { code: 'request-reused' });
});

test('a refusal is not remembered: its request_id is free', async () => {
  const plane = await PlaneFixture.open();
  await assert.rejects(plane.put('ledger', { ...sparse.ledger, run_id: '' }, { request_id: 'one' }), {
    code: 'rejected',
  });
  await plane.put('ledger', sparse.ledger, { request_id: 'one' });
  assert.equal(plane.told.length, 1);
});

test('a record at its limits is taken', async () => {
  const plane = await PlaneFixture.open();
  const run = '%'.repeat(512);
  await plane.put('scratchpad', { run_id: run, key: '😀'.repeat(128), value: 'x'.repeat(1024 * 1024) });
  await plane.put('goal_state', { ...sparse.goal_state, passed: 2, failed: 2, total: 4 }, { run_id: run });
  await plane.put('skill_trial', { ...sparse.skill_trial, pass_rate: 1, run_id: '' }, { run_id: '' });
  await plane.put(
    'summary',
    { ...sparse.summary, iteration: Number.MAX_SAFE_INTEGER, facts: [], headline: '' },
    { run_id: 'r' },
  );
  assert.equal((await plane.store.keys()).length, 4);
});

test('names such as __proto__ are data like any other', async () => {
  const plane = await PlaneFixture.open();
  const revisions = JSON.parse('{"__proto__":1,"constructor":2}') as object;
  await plane.put('checkpoint', { ...sparse.checkpoint, run_id: '__proto__', revisions });
  const { record } = await plane.call('record/get', { kind: 'checkpoint', run_id: '__proto__' });
  assert.equal(JSON.stringify(record?.['revisions']), '{"__proto__":1,"constructor":2}');
});

for (const kind of proposalKinds) {
  test(`a proposal to ${kind} is stamped with its lifetime, unless it says its own`, async () => {
    const plane = await PlaneFixture.open();
    const lifetimeMs = lifetimesMs[kind];
    const stamped = async (fields: object) => {
      const { key } = await plane.put('proposal', { ...sparse.proposal, kind, created_ms: 1000, ...fields });
      return (JSON.parse(plane.store.get(key)?.json ?? '') as Record<string, unknown>)['expires_ms'];
    };
    assert.equal(await stamped({}), lifetimeMs === null ? null : 1000 + lifetimeMs);
    assert.equal(await stamped({ expires_ms: null }), lifetimeMs === null ? null : 1000 + lifetimeMs);
    assert.equal(await stamped({ expires_ms: 7 }), 7);
    const latest = await stamped({ created_ms: Number.MAX_SAFE_INTEGER });
    assert.equal(latest, lifetimeMs === null ? null : Number.MAX_SAFE_INTEGER);
  });
}

test('lifetimes are 7 days, 30 days and for ever', () => {
  const dayMs = 86_400_000;
  assert.deepEqual(lifetimesMs, {
    try_skill: 7 * dayMs,
    adopt_skill: 30 * dayMs,
    drop_skill: 30 * dayMs,
    reshape_graph: 30 * dayMs,
    change_criteria: null,
  });
});

test('a put that the store could not do tells the index nothing', async () => {
  const plane = await PlaneFixture.open();
  plane.store.commit = () => Promise.reject(new Error('disk'));
  await assert.rejects(plane.put('ledger', sparse.ledger), /disk/);
  assert.deepEqual(plane.told, []);
});

test('a flush asks the store, also when it is sent again', async () => {
  const plane = await PlaneFixture.open();
  await plane.call('record/flush', {});
  for (const _ of ['first', 'again']) {
    assert.deepEqual(await plane.call('record/flush', { request_id: 'f' }), {});
  }
  assert.equal(plane.store.flushes, 3);
});

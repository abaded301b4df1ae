/** Goal: one record comes back as it went in, with what follows from it, for every version that could have written it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ParamsError } from '../../../shared/params-error.ts';
import {
  kindNames,
  recordKinds,
  replacedKinds,
  type ReplacedKind,
} from '../../../shared/protocol/records.ts';
import { RawJson } from '../../../shared/raw-json.ts';
import { beside, PlaneFixture, sparse } from '../plane/plane-fixture.ts';
import { recordGet } from './record-get.ts';

const selectors: Record<ReplacedKind, object> = {
  goal_state: { target: 't' },
  checkpoint: {},
  scratchpad: { key: 'k' },
  summary: { iteration: 1 },
};

const derived = { goal_state: { pass_rate: 0.25 }, proposal: { expired: true } };

test('the kinds that can be asked for are those that replace', () => {
  assert.deepEqual(replacedKinds, Object.keys(selectors));
});

for (const kind of replacedKinds) {
  test(`${kind} is answered at once, whole, or as null`, async () => {
    const plane = await PlaneFixture.open();
    const get = () =>
      recordGet({ kind, run_id: 'r', ...selectors[kind] }, { store: plane.store, nowMs: () => 1 });

    assert.deepEqual(get(), new RawJson('{"record":null}'));
    await plane.put(kind, sparse[kind], beside(kind));

    const whole = {
      ...recordKinds[kind].absent,
      ...sparse[kind],
      ...(kind === 'goal_state' ? derived.goal_state : {}),
    };
    assert.deepEqual(JSON.parse(get().json), { record: whole });
  });
}

for (const kind of kindNames) {
  test(`a record of ${kind} from before its optional fields existed still reads, whole`, async () => {
    const plane = await PlaneFixture.open();
    const key =
      kind === 'skill_trial'
        ? 'st/1'
        : `${recordKinds[kind].prefix}/r${recordKinds[kind].key.length === 1 ? '' : '/1'}`;
    const optional = Object.keys(recordKinds[kind].absent);
    // As an older version wrote it: each set of fields that it may have known.
    for (let known = 0; known <= optional.length; known += 1) {
      const some = Object.fromEntries(Object.entries(recordKinds[kind].absent).slice(0, known));
      await plane.store.commit([{ type: 'put', key, json: JSON.stringify({ ...sparse[kind], ...some }) }]);

      const { records } = await plane.call('record/list', { kind });

      const more = kind === 'goal_state' ? derived.goal_state : kind === 'proposal' ? { expired: false } : {};
      assert.deepEqual(records[0]?.record, { ...recordKinds[kind].absent, ...sparse[kind], ...more });
    }
  });
}

test('a field that is stored as null reads as what it reads as when it is absent', async () => {
  const plane = await PlaneFixture.open();
  const json = JSON.stringify({ ...sparse.checkpoint, revisions: null, last_signature: null });
  await plane.store.commit([{ type: 'put', key: 'ck/r', json }]);
  const { record } = await plane.call('record/get', { kind: 'checkpoint', run_id: 'r' });
  assert.deepEqual(record, { ...sparse.checkpoint, ...recordKinds.checkpoint.absent });
});

test('a field that a later version added reads as it is', async () => {
  const plane = await PlaneFixture.open();
  for (const [kind, key] of [
    ['checkpoint', 'ck/r'],
    ['proposal', 'pr/r/1'],
    ['ledger', 'lg/r/1'],
  ] as const) {
    await plane.store.commit([
      { type: 'put', key, json: JSON.stringify({ ...sparse[kind], later: { a: 1 } }) },
    ]);
    const { records } = await plane.call('record/list', { kind });
    assert.deepEqual(records[0]?.record['later'], { a: 1 });
  }
});

test('text that looks like a field is not taken for one', async () => {
  const plane = await PlaneFixture.open();
  const output = 'he said "tokens":1,"error": and \\"cost_usd\\":2 "duration_ms":';
  const json = JSON.stringify({ ...sparse.episode, output });
  await plane.store.commit([{ type: 'put', key: 'ep/r/1', json }]);
  const { records } = await plane.call('record/list', { kind: 'episode' });
  assert.deepEqual(records[0]?.record, { ...sparse.episode, output, ...recordKinds.episode.absent });
});

test('the pass rate of no checks at all is 0', async () => {
  const plane = await PlaneFixture.open();
  await plane.put('goal_state', { ...sparse.goal_state, passed: 0, failed: 0, total: 0 }, { run_id: 'r' });
  const { record } = await plane.call('record/get', { kind: 'goal_state', run_id: 'r', target: 't' });
  assert.equal(record?.['pass_rate'], 0);
});

test('a proposal has expired at the instant itself, and is never taken away', async () => {
  const plane = await PlaneFixture.open();
  await plane.put('proposal', { ...sparse.proposal, expires_ms: 500 });
  await plane.put('proposal', { ...sparse.proposal, kind: 'change_criteria' });
  const expired = async (nowMs: number) => {
    plane.nowMs = nowMs;
    return (await plane.call('record/list', { kind: 'proposal' })).records.map(
      ({ record }) => record['expired'],
    );
  };
  assert.deepEqual(await expired(499), [false, false]);
  assert.deepEqual(await expired(500), [true, false]);
  assert.deepEqual(await expired(Number.MAX_SAFE_INTEGER), [true, false]);
});

test('a record that cannot be read is an error that names its key', async () => {
  const plane = await PlaneFixture.open();
  await plane.store.damage('ck/r');
  await assert.rejects(plane.call('record/get', { kind: 'checkpoint', run_id: 'r' }), {
    code: 'store-damaged',
    details: { key: 'ck/r' },
  });
});

test('a kind is asked for by the parts of its key and by no others', async () => {
  const plane = await PlaneFixture.open();
  for (const [params, field] of [
    [{ kind: 'goal_state' }, 'target'],
    [{ kind: 'scratchpad', target: 't', key: 'k' }, 'target'],
    [{ kind: 'summary' }, 'iteration'],
    [{ kind: 'checkpoint', iteration: 1 }, 'iteration'],
  ] as const) {
    await assert.rejects(
      plane.call('record/get', { run_id: 'r', ...params }),
      (thrown) => thrown instanceof ParamsError && thrown.field === field,
    );
  }
  const long = 'x'.repeat(513);
  for (const [params, field] of [
    [{ kind: 'checkpoint', run_id: long }, 'run_id'],
    [{ kind: 'scratchpad', run_id: 'r', key: long }, 'key'],
  ] as const) {
    const error = await plane.call('record/get', params).catch((thrown: unknown) => thrown);
    const { code, details } = error as { code: string; details: Record<string, unknown> };
    assert.deepEqual([code, details['field']], ['rejected', field]);
  }
});

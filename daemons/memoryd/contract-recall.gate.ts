/**
 * Goal: what is promised of recall, updated and the record plane holds.
 * Method: the real daemon, asked over its sockets with bytes written by hand, no client of ours in between.
 */
import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'node:test';
import type { Role } from '../../shared/protocol/method.ts';
import { BareDaemon } from './testing/bare-daemon.ts';
import { codeOf } from './testing/wire.ts';

const bare = BareDaemon.forAll();
const at = '2026-11-01T10:00:00.000Z';
const ledger = (run_id: string, detail = '') => ({
  run_id,
  iteration: 1,
  kind: 'run_started',
  detail,
  created_ms: 1,
});
const goal = (more: object) => ({
  target: 't',
  satisfied: false,
  passed: 1,
  failed: 0,
  total: 4,
  reason: '',
  iteration: 1,
  updated_ms: 1,
  ...more,
});

test('a half line waits, a rewritten log is read anew, a deleted one forgotten, an unknown one named', async () => {
  bare.writeLog('kept', ['the walnut']);
  bare.writeLog('up', ['an aardvark']);
  assert.deepEqual((await bare.ask('updated', { session: 'kept' })).result, {
    session: 'kept',
    indexed: 2,
    behind: 0,
  });
  assert.deepEqual((await bare.ask('updated', { session: 'up' })).result, {
    session: 'up',
    indexed: 2,
    behind: 0,
  });
  const hits = async (query: string) =>
    (await bare.ask('recall', { query })).result?.['hits'] as { session: string }[];
  const log = bare.path('sessions', 'up.jsonl');
  const whole = readFileSync(log, 'utf8');
  const line = JSON.stringify({ v: 1, seq: 2, at, type: 'turn', turn: 2, text: 'a wombat' });
  writeFileSync(log, whole + line.slice(0, 30));
  await bare.ask('updated', { session: 'up' });
  assert.deepEqual(await hits('wombat'), []);
  writeFileSync(log, `${whole}${line}\n`);
  await bare.ask('updated', { session: 'up' });
  assert.equal((await hits('wombat'))[0]?.session, 'up');
  bare.writeLog('up', ['one quokka']);
  await bare.ask('updated', { session: 'up' });
  assert.deepEqual(await hits('aardvark'), []);
  assert.equal((await hits('quokka'))[0]?.session, 'up');
  rmSync(log);
  await bare.ask('updated', { session: 'up' });
  assert.deepEqual(await hits('quokka'), []);
  assert.equal((await bare.ask('recall', { query: 'walnut' })).result?.['forgotten'], 1);
  assert.equal(codeOf(await bare.ask('updated', { session: 'never' })), 'session-unknown');
});

test('params out of their bounds are refused by name, and those within are taken', async () => {
  const bounds = { limit: [1, 100], window: [0, 10], max_chars: [200, 200_000] } as const;
  for (const [name, [least, most]] of Object.entries(bounds)) {
    for (const value of [least, most])
      assert.ok('result' in (await bare.ask('recall', { query: 'x', [name]: value })));
    for (const value of [least - 1, most + 1, 'x', 1.5]) {
      const { error } = await bare.ask('recall', { query: 'x', [name]: value });
      assert.deepEqual([error?.code, error?.data?.['field']], [-32602, name]);
    }
  }
  for (const since of ['yesterday', '2026-02-30', '2026-11-01T10:00:00', '2026-11-1', ''])
    assert.equal((await bare.ask('recall', { query: 'x', since })).error?.data?.['field'], 'since', since);
});

test('a log that is missing at the start is reported, nothing of it dropped, and what it held is not denied', async () => {
  bare.writeLog('away', ['the narwhal']);
  await bare.ask('updated', { session: 'away' });
  const log = bare.path('sessions', 'away.jsonl');
  const text = readFileSync(log);
  rmSync(log);
  await bare.memoryd.stop();
  await bare.start();
  type Status = { index: { state: string }; sessions: { missing: string[] } };
  let status = (await bare.ask('status')).result as unknown as Status;
  for (let tries = 0; status.index.state !== 'ok' && tries < 100; tries += 1) {
    await sleep(50);
    status = (await bare.ask('status')).result as unknown as Status;
  }
  assert.deepEqual(status.sessions.missing, ['away']);
  assert.match(String((await bare.ask('recall', { query: 'narwhal' })).result?.['note']), /cannot be read/);
  writeFileSync(log, text);
  const { hits } = (await bare.ask('recall', { query: 'narwhal' })).result as { hits: { session: string }[] };
  assert.equal(hits[0]?.session, 'away');
});

test('no run reaches into the range of another, and a part of a key is bounded', async () => {
  const runs = ['a', 'a/b', 'a%2Fb', 'a%', 'a\u0001', 'ab', 'a/', 'ä', '😀'];
  for (const run of runs) await bare.ask('record/put', { kind: 'ledger', record: ledger(run) });
  for (const run of runs) {
    const { records } = (await bare.ask('record/list', { kind: 'ledger', run_id: run })).result as {
      records: { record: { run_id: string } }[];
    };
    assert.deepEqual(
      records.map(({ record }) => record.run_id),
      [run],
    );
  }
  for (const [key, isTaken] of [
    ['é'.repeat(256), true],
    [`${'é'.repeat(256)}x`, false],
  ] as const) {
    const answer = await bare.ask('record/put', {
      kind: 'scratchpad',
      record: { run_id: 'r', key, value: '' },
    });
    assert.deepEqual(
      [codeOf(answer), answer.error?.data?.['field']],
      isTaken ? [undefined, undefined] : ['rejected', 'key'],
    );
  }
});

test('only the gate says that a goal is met, and it may take it back', async () => {
  const put = (record: object, role: Role) =>
    bare.ask('record/put', { kind: 'goal_state', run_id: 'g', record }, role);
  for (const role of ['loop', 'ops'] as const)
    assert.equal(codeOf(await put(goal({ satisfied: true }), role)), 'not-permitted');
  const get = async () =>
    (await bare.ask('record/get', { kind: 'goal_state', run_id: 'g', target: 't' })).result;
  assert.deepEqual(await get(), { record: null });
  await put(goal({ satisfied: true }), 'gate');
  assert.deepEqual(await get(), { record: { ...goal({ satisfied: true }), pass_rate: 0.25 } });
  await put(goal({ satisfied: false }), 'gate');
  assert.deepEqual(await get(), { record: { ...goal({ satisfied: false }), pass_rate: 0.25 } });
});

test('keys such as __proto__ are data like any other', async () => {
  const asking = await bare.wire();
  const record =
    '{"run_id":"__proto__","iteration":1,"completed_nodes":["constructor"],"tokens_used":1,"cost_usd":0,"started_ms":1,"updated_ms":2,"revisions":{"__proto__":3}}';
  asking.write(
    `{"jsonrpc":"2.0","id":1,"method":"record/put","params":{"kind":"checkpoint","record":${record}}}\n`,
  );
  assert.equal((await asking.next())?.result?.['key'], 'ck/__proto__');
  await asking.ask('record/get', { kind: 'checkpoint', run_id: '__proto__' });
  assert.match(asking.lastLine, /"revisions":\{"__proto__":3\}/);
});

test('the methods of the operator are not permitted to others, and status is open to all', async () => {
  for (const role of ['loop', 'gate'] as const) {
    for (const method of ['probe', 'reindex', 'verify', 'forget', 'export', 'compact'])
      assert.equal(codeOf(await bare.ask(method, {}, role)), 'not-permitted', method);
    assert.equal(codeOf(await bare.ask('import', { lines: [] }, role)), 'not-permitted');
    assert.ok('result' in (await bare.ask('status', {}, role)));
  }
});

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { RequestError } from '@agentclientprotocol/sdk';
import { AppError } from '../../../shared/errors.ts';
import type { TestClient } from '../testing/channel-clients.ts';
import { callTool, Lab, say } from '../testing/channel-lab.ts';

const at = '2024-05-08T13:56:00.000Z';
const conversation = {
  id: 'walk-1',
  title: 'A walk',
  startedAt: at,
  origin: 'person',
  records: [
    { type: 'turn', turn: 1, text: 'The heron was back.', name: 'A', ref: 'D1:1', at },
    { type: 'turn', turn: 2, text: 'Where? [image: a bird]', name: 'B', ref: 'D1:2', at },
  ],
};
const importOf = (client: TestClient, ...sessions: object[]) =>
  client.agent.request<{ imported: string[]; known: string[] }>('_loopkeep/import', { sessions });
const forget = (client: TestClient, params: object) =>
  client.agent.request<{ forgotten: { session: string; turns?: number[] }[]; baselines: string[] }>(
    '_loopkeep/forget',
    params,
  );

test('an imported conversation is a session with its names, refs and dates, and memoryd is told', async (t) => {
  const lab = await Lab.start(t);
  const client = await lab.client(t);

  assert.deepEqual(await importOf(client, conversation), { imported: ['walk-1'], known: [] });

  const [head, first, second, end] = lab.records('walk-1');
  assert.ok(
    head?.type === 'session' && head.title === 'A walk' && head.at === at && head.model === 'imported',
  );
  assert.deepEqual(first, { v: 1, seq: 1, ...conversation.records[0] });
  assert.ok(second?.type === 'turn' && second.name === 'B');
  assert.equal(end?.type, 'end', 'nothing is left for a turn loop to go on with');
  assert.deepEqual(lab.memory.updated, ['walk-1']);
});

test('importing again changes nothing, and works without memoryd', async (t) => {
  const lab = await Lab.start(t);
  const client = await lab.client(t);
  lab.memory.fault = new AppError('memory-unavailable', 'down');
  await importOf(client, conversation);
  const before = JSON.stringify(lab.records('walk-1'));

  assert.deepEqual(await importOf(client, conversation, { ...conversation, id: 'walk-2' }), {
    imported: ['walk-2'],
    known: ['walk-1'],
  });
  assert.equal(JSON.stringify(lab.records('walk-1')), before);
});

test('an imported session can be gone on with', async (t) => {
  const lab = await Lab.start(t, { steps: [say('By the pond.')] });
  const client = await lab.client(t);
  await importOf(client, conversation);

  assert.equal((await client.prompt('walk-1', 'where was it?')).stopReason, 'end_turn');
  assert.match(JSON.stringify(lab.requests[0]?.messages), /The heron was back/);
});

test('a session that is wrong in one place is refused by that place, and none of the batch is written', async (t) => {
  const lab = await Lab.start(t);
  const client = await lab.client(t);
  const wrong = (record: object) => ({
    ...conversation,
    id: 'w',
    records: [conversation.records[0], record],
  });
  for (const [session, field] of [
    [wrong({ type: 'turn', turn: 2, at }), 'sessions.1.records.1.text'],
    [wrong({ type: 'turn', turn: -1, text: 'x', at }), 'sessions.1.records.1.turn'],
    [wrong({ type: 'turn', turn: 1, text: 'x', at: 'yesterday' }), 'sessions.1.records.1.at'],
    [wrong({ type: 'session', id: 'x' }), 'sessions.1.records.1.type'],
    [{ ...conversation, id: '../x' }, 'sessions.1.id'],
    [{ id: 'x' }, 'sessions.1.records'],
  ] as const) {
    await assert.rejects(importOf(client, conversation, session), (error) => {
      assert.ok(error instanceof RequestError && error.code === -32602);
      assert.equal((error.data as { field: string }).field, field);
      return true;
    });
  }
  assert.ok(await lab.sessions.isEmpty());
});

test('a log of an export comes back byte for byte, whole or in pieces, and once', async (t) => {
  const lab = await Lab.start(t, {
    steps: [callTool('clock', {}), say('It is late — 23:59 ✓'), say('bye'), say('and again')],
  });
  const client = await lab.client(t);
  const id = await client.newSession();
  await client.prompt(id, 'what time is it?');
  await client.prompt(id, 'good night');
  const bytes = readFileSync(join(lab.sessions.directory, `${id}.jsonl`));
  const other = await Lab.start(t, { steps: [say('gone on')] });
  const peer = await other.client(t);
  const path = join(other.sessions.directory, `${id}.jsonl`);
  const lines = bytes.toString().trimEnd().split('\n');

  assert.deepEqual(await importOf(peer, { id, lines }), { imported: [id], known: [] });
  assert.ok(readFileSync(path).equals(bytes));
  assert.deepEqual(await importOf(peer, { id, lines }), { imported: [], known: [id] });
  assert.deepEqual(other.memory.updated, [id]);
  assert.equal((await peer.prompt(id, 'go on')).stopReason, 'end_turn');

  const third = await Lab.start(t);
  const text = bytes.toString();
  const half = Math.floor(text.length / 2);
  const first = { id, text: text.slice(0, half), offset: 0, more: true };
  const rest = { id, text: text.slice(half), offset: Buffer.byteLength(first.text), more: false };
  const importer = await third.client(t);
  assert.deepEqual(await importOf(importer, first), { imported: [], known: [] });
  assert.ok(!(await third.sessions.has(id)), 'half a log is no session');
  assert.deepEqual(await importOf(importer, rest), { imported: [id], known: [] });
  assert.ok(readFileSync(join(third.sessions.directory, `${id}.jsonl`)).equals(bytes));
});

test('a log that is not what loopd writes is refused by its line, and nothing of it stays', async (t) => {
  const lab = await Lab.start(t, { steps: [say('x')] });
  const client = await lab.client(t);
  const id = await client.newSession();
  await client.prompt(id, 'hello');
  const lines = readFileSync(join(lab.sessions.directory, `${id}.jsonl`), 'utf8')
    .trimEnd()
    .split('\n');
  const other = await Lab.start(t);
  const peer = await other.client(t);
  const altered = (at: number, change: (line: string) => string) =>
    lines.map((line, index) => (index === at ? change(line) : line));
  for (const [wrong, field] of [
    [[], `${id}.0`],
    [lines.slice(1), `${id}.0`],
    [altered(1, (line) => line.slice(0, -3)), `${id}.1`],
    [altered(1, (line) => line.replace('"turn":1', '"turn":"1"')), `${id}.1.turn`],
    [altered(1, (line) => line.replace('"type":"turn"', '"type":"spell"')), `${id}.1.type`],
    [altered(0, (line) => line.replace(/"baseline":.*/, '"baseline":7}')), `${id}.0.baseline`],
    [[...lines.slice(0, 1), ...lines.slice(2)], `${id}.1`],
  ] as const) {
    await assert.rejects(importOf(peer, { id, lines: wrong }), (error) => {
      const { code, field: named } = (error as RequestError).data as { code: string; field: string };
      assert.deepEqual([code, named], ['rejected', field]);
      return true;
    });
  }
  await assert.rejects(importOf(peer, { id, text: 'x', offset: 9, more: false }));
  assert.deepEqual(
    readdirSync(other.sessions.directory).filter((name) => name.includes('.jsonl')),
    [],
  );
});

test('forgetting turns rewrites the log without them, keeps the others, and tells memoryd', async (t) => {
  const lab = await Lab.start(t, { steps: [say('one'), say('two'), say('three'), say('four')] });
  const client = await lab.client(t);
  const id = await client.newSession();
  for (const text of ['first thing', 'the secret word is swordfish', 'third thing'])
    await client.prompt(id, text);

  const { forgotten } = await forget(client, { session: id, turns: [2, 9] });

  assert.deepEqual(forgotten, [{ session: id, turns: [2] }]);
  const records = lab.records(id);
  assert.doesNotMatch(JSON.stringify(records), /swordfish/);
  assert.deepEqual(
    records.map(({ seq }) => seq),
    [...records.keys()],
  );
  assert.equal(lab.memory.updated.length, 4);
  assert.equal((await client.prompt(id, 'go on')).stopReason, 'end_turn');
  assert.doesNotMatch(JSON.stringify(lab.requests.at(-1)), /swordfish/);
});

test('a turn that takes the number of a forgotten one never takes the keys of its calls', async (t) => {
  const remember = callTool('memory', { action: 'add', text: 'tea' });
  const lab = await Lab.start(t, { steps: [remember, say('saved'), remember, say('saved again')] });
  const client = await lab.client(t);
  const id = await client.newSession();
  await client.prompt(id, 'remember tea');
  await client.agent.request('_loopkeep/forget', { session: id, turns: [1] });
  await client.prompt(id, 'remember tea');

  const keys = lab.memory.asked
    .filter(({ method }) => method === 'memory')
    .map(({ params }) => params['request_id']);
  assert.equal(keys.length, 2);
  assert.notEqual(keys[0], keys[1]);
});

test('forgetting a text takes the turns that hold it out of every session; a dry run only says which', async (t) => {
  const lab = await Lab.start(t, { steps: [say('noted elsewhere'), say('the SWORDFISH again'), say('x')] });
  const client = await lab.client(t);
  const a = await client.newSession();
  const b = await client.newSession();
  await client.prompt(a, 'the word is Swordfish');
  await client.prompt(b, 'which word?');
  await client.prompt(b, 'good');

  const dry = await forget(client, { text: 'swordfish', dry_run: true });
  const byId = (one: { session: string }, two: { session: string }) => (one.session < two.session ? -1 : 1);
  const expected = [
    { session: a, turns: [1] },
    { session: b, turns: [1] },
  ].toSorted(byId);
  assert.deepEqual(dry.forgotten.toSorted(byId), expected);
  assert.match(JSON.stringify(lab.records(a)), /Swordfish/);

  assert.deepEqual((await forget(client, { text: 'swordfish' })).forgotten.toSorted(byId), expected);
  assert.doesNotMatch(JSON.stringify([lab.records(a), lab.records(b)]), /swordfish/i);
});

test('a frozen baseline that holds what is forgotten is named', async (t) => {
  const lab = await Lab.start(t, {
    steps: [callTool('memory', { action: 'add', text: 'the spare key hangs behind the clock' }), say('done')],
  });
  const client = await lab.client(t);
  const first = await client.newSession();
  await client.prompt(first, 'remember where the key is');
  const later = await client.newSession();

  const { baselines } = await forget(client, { session: first, turns: [1] });

  assert.deepEqual(baselines, [later]);
});

test('forgetting a session deletes its log; a running turn is not pulled away', async (t) => {
  const lab = await Lab.start(t, { steps: [say('x')] });
  const client = await lab.client(t);
  const id = await client.newSession();
  lab.steps.unshift((_, onDelta, signal) => {
    onDelta({ type: 'text', delta: 'w' });
    return new Promise((_resolve, reject) =>
      signal.addEventListener('abort', () => reject(new AppError('internal', 'x'))),
    );
  });
  const running = client.prompt(id, 'work');
  await client.seen(() => client.text('agent_message_chunk') !== '');
  for (const busy of [forget(client, { session: id }), forget(client, { session: id, turns: [1] })]) {
    await assert.rejects(
      busy,
      (error) => ((error as RequestError).data as { code: string }).code === 'session-busy',
    );
  }
  await client.agent.notify('session/cancel', { sessionId: id });
  await running;

  await forget(client, { session: id });

  assert.ok(await lab.sessions.isEmpty());
  assert.equal(lab.memory.updated.at(-1), id);
});

test('what to forget has to be said', async (t) => {
  const client = await (await Lab.start(t)).client(t);
  for (const params of [
    {},
    { turns: [1] },
    { text: 'a' },
    { session: 'x', turns: [] },
    { session: 'x', more: 1 },
  ]) {
    await assert.rejects(forget(client, params), (error) => (error as RequestError).code === -32602);
  }
});

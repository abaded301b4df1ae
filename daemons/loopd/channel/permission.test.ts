/** Goal: a call that must be asked for runs only after a clear yes. Method: real clients that answer, refuse, or do not. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SessionRecordOf } from '../../../shared/protocol/sessions.ts';
import { callTool, Lab, say } from '../testing/channel-lab.ts';

const asking = { policy: { clock: 'ask' } };

function decisions(lab: Lab, id: string): string[] {
  const records = lab
    .records(id)
    .filter((record): record is SessionRecordOf<'decision'> => record.type === 'decision');
  return records.map(({ verdict, rule }) => `${verdict}: ${rule}`);
}

function resultOf(lab: Lab, id: string): string {
  const result = lab
    .records(id)
    .find((record): record is SessionRecordOf<'result'> => record.type === 'result');
  return result?.status ?? 'none';
}

test('a yes lets the call run, a no does not, and both are recorded with their rule', async (t) => {
  for (const [answer, status, decision] of [
    ['allow', 'ok', 'allow: policy: clock = ask; person: allowed'],
    ['deny', 'denied', 'deny: policy: clock = ask; person: denied'],
    [undefined, 'denied', 'deny: policy: clock = ask; person: denied'],
  ] as const) {
    const lab = await Lab.start(t, { ...asking, steps: [callTool('clock', {}), say('so')] });
    const client = await lab.client(t, () => answer);
    const id = await client.newSession();

    await client.prompt(id, 'what time is it?');

    assert.equal(resultOf(lab, id), status);
    assert.deepEqual(decisions(lab, id), [decision]);
  }
});

test('allowed for the session, it is not asked again in it, but in another session it is', async (t) => {
  const steps = Array.from({ length: 3 }, () => [callTool('clock', {}), say('so')]).flat();
  const lab = await Lab.start(t, { ...asking, steps });
  let asked = 0;
  const client = await lab.client(t, () => {
    asked += 1;
    return 'allow-session';
  });
  const id = await client.newSession();
  await client.prompt(id, '1');
  await client.prompt(id, '2');
  assert.equal(asked, 1);

  await client.prompt(await client.newSession(), '3');
  assert.equal(asked, 2);
});

test('no client, no answer in time, or a client that cannot be asked is a no that says why', async (t) => {
  const lab = await Lab.start(t, {
    ...asking,
    steps: [callTool('clock', {}), say('so')],
    options: { askWaitMs: 30 },
  });
  const silent = await lab.raw(t);
  silent.write({ id: 1, method: 'session/new', params: { cwd: '/' } });
  const id = String((await silent.reply(1)).result?.['sessionId']);
  silent.write({
    id: 2,
    method: 'session/prompt',
    params: { sessionId: id, prompt: [{ type: 'text', text: 'x' }] },
  });
  await silent.reply(2);
  assert.deepEqual(decisions(lab, id), ['deny: policy: clock = ask; ask: no answer within 30 ms']);

  const deaf = await Lab.start(t, { ...asking, steps: [callTool('clock', {}), say('so')] });
  const client = await deaf.client(t);
  const other = await client.newSession();
  await client.prompt(other, 'x');
  assert.deepEqual(decisions(deaf, other), ['deny: policy: clock = ask; ask: no client answered']);
});

test('of several clients the first answer counts, and the others are told that it is over', async (t) => {
  const lab = await Lab.start(t, { ...asking, steps: [callTool('clock', {}), say('so')] });
  const silent = await lab.raw(t);
  const client = await lab.client(t, () => 'allow');
  const id = await client.newSession();
  silent.write({ id: 1, method: 'session/resume', params: { sessionId: id, cwd: '/' } });
  await silent.reply(1);

  await client.prompt(id, 'x');

  assert.equal(resultOf(lab, id), 'ok');
  const methods = silent.messages.map(({ method }) => method);
  assert.ok(methods.includes('session/request_permission'));
  assert.ok(methods.includes('$/cancel_request'));
});

test('a cancelled turn does not wait for an answer', async (t) => {
  const lab = await Lab.start(t, {
    ...asking,
    steps: [callTool('clock', {})],
    options: { askWaitMs: 60_000 },
  });
  const silent = await lab.raw(t);
  silent.write({ id: 1, method: 'session/new', params: { cwd: '/' } });
  const sessionId = String((await silent.reply(1)).result?.['sessionId']);
  silent.write({
    id: 2,
    method: 'session/prompt',
    params: { sessionId, prompt: [{ type: 'text', text: 'x' }] },
  });
  while (!silent.messages.some(({ method }) => method === 'session/request_permission')) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  silent.write({ method: 'session/cancel', params: { sessionId } });

  assert.equal((await silent.reply(2)).result?.['stopReason'], 'cancelled');
});

test('a broker that cannot be reached ends the turn with broker-unavailable and runs nothing', async (t) => {
  const lab = await Lab.start(t, {
    broker: '/nowhere/broker.sock',
    steps: [callTool('memory', { action: 'add', text: 'x' })],
  });
  const client = await lab.raw(t);
  client.write({ id: 1, method: 'session/new', params: { cwd: '/' } });
  const sessionId = String((await client.reply(1)).result?.['sessionId']);
  client.write({
    id: 2,
    method: 'session/prompt',
    params: { sessionId, prompt: [{ type: 'text', text: 'x' }] },
  });

  const { error } = await client.reply(2);

  assert.equal(error?.code, -32603);
  assert.equal(error.data?.['code'], 'broker-unavailable');
  assert.deepEqual(lab.memory.entries, []);
});

/** Goal: no client can hurt the channel or another client. Method: raw bytes over the real socket. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RawClient } from '../testing/channel-clients.ts';
import { Lab, say } from '../testing/channel-lab.ts';

const list = (id: number | string) => ({ id, method: 'session/list', params: {} });
const still = async (client: RawClient) =>
  assert.ok((await client.reply('last')).result, 'the connection is open');

test('what is no message gets a standard code and leaves the connection open', async (t) => {
  const client = await (await Lab.start(t)).raw(t);
  const deep = `{"jsonrpc":"2.0","id":9,"method":"x","params":${'['.repeat(70)}${']'.repeat(70)}}`;
  for (const line of ['not json', '[1]', '7', 'null', '{"id":1}', deep]) client.write(`${line}\n`);
  client.socket.write(Buffer.from([0x22, 0xff, 0xfe, 0x22, 0x0a]));
  client.write(list('last'));

  await still(client);
  const codes = client.messages.filter(({ error }) => error).map(({ error }) => error?.code);
  assert.deepEqual(codes, [-32700, -32600, -32600, -32600, -32600, -32700]);
});

test('unknown methods and wrong parameters have their standard codes, and the field is named', async (t) => {
  const client = await (await Lab.start(t)).raw(t);
  client.write({ id: 1, method: 'session/fly', params: {} });
  client.write({ id: 2, method: 'session/prompt', params: { sessionId: 7, prompt: [] } });
  client.write({ id: 3, method: 'session/new', params: { mcpServers: [] } });
  client.write({ method: 'session/cancel', params: { wrong: true } });
  client.write({ method: 'no/such/notification' });
  client.write(list('last'));

  assert.equal((await client.reply(1)).error?.code, -32601);
  const wrong = (await client.reply(2)).error;
  assert.equal(wrong?.code, -32602);
  assert.match(wrong.message, /sessionId/);
  assert.match((await client.reply(3)).error?.message ?? '', /cwd/);
  await still(client);
});

test('no error has the code -32000, which the protocol keeps for another meaning', async (t) => {
  const lab = await Lab.start(t, { options: { systemPath: '/nowhere' } });
  const client = await lab.raw(t);
  const prompt = [{ type: 'text', text: 'x' }];
  const asked = [
    { method: 'session/new', params: { cwd: '/', mcpServers: [] } },
    { method: 'session/prompt', params: { sessionId: 'x', prompt } },
    { method: 'session/load', params: { sessionId: 'x', cwd: '/' } },
    { method: 'session/delete', params: { sessionId: 'x' } },
    { method: 'session/close', params: { sessionId: 'x' } },
    { method: '_loopkeep/import', params: {} },
    { method: '_loopkeep/forget', params: {} },
    { method: 'authenticate', params: { methodId: 'x' } },
  ];
  for (const [id, request] of asked.entries()) client.write({ id, ...request });

  for (const id of asked.keys()) {
    const { error } = await client.reply(id);
    assert.ok(error !== undefined && error.code !== -32000, `${asked[id]?.method}: ${JSON.stringify(error)}`);
  }
});

test('text arrives whole however its bytes are cut, and each request gets one answer', async (t) => {
  const lab = await Lab.start(t, { steps: [say('ok')] });
  const id = await (await lab.client(t)).newSession();
  const client = await lab.raw(t);
  const text = 'é漢😀\u2028 line';
  const params = { sessionId: id, prompt: [{ type: 'text', text }] };
  const bytes = Buffer.from(
    `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'session/prompt', params })}\r\n`,
  );
  for (const byte of bytes) client.socket.write(Buffer.from([byte]));
  client.write([2, 3, 4].map((id) => JSON.stringify({ jsonrpc: '2.0', ...list(id) })).join('\n') + '\n');

  assert.ok((await client.reply(1)).result);
  for (const id of [2, 3, 4]) assert.ok((await client.reply(id)).result);
  const turn = lab.records(id).find(({ type }) => type === 'turn');
  assert.ok(turn?.type === 'turn' && turn.text === text);
});

test('a client may end its side after its last request and still read the answers', async (t) => {
  const lab = await Lab.start(t, { steps: [say('late but here')] });
  const id = await (await lab.client(t)).newSession();
  const client = await lab.raw(t);
  const params = { sessionId: id, prompt: [{ type: 'text', text: 'x' }] };
  client.socket.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'session/prompt', params }));

  assert.ok((await client.reply(1)).result);
  await client.ended;
});

test('a line over the limit is refused by name and its connection closed; others go on', async (t) => {
  const lab = await Lab.start(t, { limits: { lineBytesMax: 10_000 } });
  const client = await lab.raw(t);
  const other = await lab.raw(t);
  client.write(list(1));
  client.socket.write('x'.repeat(30_000));

  await client.ended;
  assert.ok((await client.reply(1)).result, 'what came before is answered');
  const [refused] = client.messages.filter(({ error }) => error);
  assert.equal(refused?.error?.code, -32603);
  assert.equal(refused.error.data?.['code'], 'message-too-large');
  other.write(list('last'));
  await still(other);
});

test('a client that does not read is dropped, and the turn does not wait for it', async (t) => {
  const delta = 'y'.repeat(64 * 1024);
  const lab = await Lab.start(t, {
    limits: { unreadBytesMax: 256 * 1024 },
    steps: [
      async (_, onDelta) => {
        // Rounds of the event loop, so that sockets can move; 4 MiB in all.
        for (let at = 0; at < 64; at += 1) {
          onDelta({ type: 'text', delta });
          await new Promise((resolve) => setImmediate(resolve));
        }
        return { text: 'done', reasoning: '', calls: [], finish: 'stop', usage: {} };
      },
    ],
  });
  const asks = await lab.client(t);
  const id = await asks.newSession();
  const sleeper = await lab.raw(t);
  sleeper.write({ id: 1, method: 'session/resume', params: { sessionId: id, cwd: '/' } });
  await sleeper.reply(1);
  sleeper.socket.pause();

  const { stopReason } = await asks.prompt(id, 'a flood');

  assert.equal(stopReason, 'end_turn');
  assert.equal(asks.text('agent_message_chunk').length, 64 * delta.length, 'who reads gets everything');
  sleeper.socket.resume();
  await sleeper.ended;
  assert.ok(JSON.stringify(sleeper.messages).length < 2 * 1024 * 1024);
});

test('a long session is replayed to a slow reader without being dropped', async (t) => {
  const text = 'z'.repeat(100_000);
  const lab = await Lab.start(t, { limits: { unreadBytesMax: 2 * 1024 * 1024 } });
  const client = await lab.client(t);
  const turns = Array.from({ length: 60 }, (_, at) => ({
    type: 'turn',
    turn: at + 1,
    text,
    at: '2026-01-01T00:00:00Z',
  }));
  await client.agent.request('_loopkeep/import', { sessions: [{ id: 'long', records: turns }] });
  const slow = await lab.raw(t);
  slow.socket.pause();
  slow.write({ id: 1, method: 'session/load', params: { sessionId: 'long', cwd: '/' } });
  await new Promise((resolve) => setTimeout(resolve, 50));
  slow.socket.resume();

  assert.ok((await slow.reply(1)).result);
  const said = slow.messages.filter(({ params }) => JSON.stringify(params)?.includes('user_message_chunk'));
  assert.equal(said.length, 60);
});

test('more connections than allowed are told so and closed', async (t) => {
  const lab = await Lab.start(t);
  const held = await Promise.all(Array.from({ length: 16 }, () => lab.raw(t)));
  const [first] = held;
  first?.write(list(1));
  await first?.reply(1);

  const client = await lab.raw(t);
  await client.ended;

  assert.equal(client.messages[0]?.error?.data?.['code'], 'too-many-connections');
  first?.write(list('last'));
  if (first !== undefined) await still(first);
});

test('clients that vanish in the middle of a request leave the channel as it was', async (t) => {
  const lab = await Lab.start(t);
  for (let at = 0; at < 200; at += 1) {
    const client = await lab.raw(t);
    client.write(list(at));
    client.socket.destroy();
  }
  const client = await lab.raw(t);
  client.write(list('last'));

  await still(client);
});

test('a client that vanishes while its session is made is not taken for one that watches', async (t) => {
  const released: string[] = [];
  const onRelease = (session: string) => void released.push(session);
  const lab = await Lab.start(t, { onRelease, blockTimeoutMs: 60_000, steps: [say('to nobody'), say('x')] });
  const other = await lab.client(t);
  const watched = await other.newSession();
  const client = await lab.raw(t);
  client.write({ id: 1, method: 'session/resume', params: { sessionId: watched, cwd: '/' } });
  await client.reply(1);
  const waiting = lab.memory.holdBlock();
  client.write({ id: 2, method: 'session/new', params: { cwd: '/', mcpServers: [] } });
  await waiting.asked;
  client.socket.destroy();
  // What is sent to it finds nobody: only then is it known that it does not merely listen.
  await other.prompt(watched, 'hello');
  while (lab.channel.connections > 1) await new Promise((resolve) => setImmediate(resolve));
  waiting.release();
  while ((await lab.sessions.list()).sessions.length < 2)
    await new Promise((resolve) => setImmediate(resolve));
  await other.prompt(watched, 'again');

  const made = (await lab.sessions.list()).sessions.find(({ id }) => id !== watched);
  assert.deepEqual(released, [made?.id], 'nobody uses it, so what was kept for it is let go');
});

test('a reply that nobody asked for and a request that repeats an id do no harm', async (t) => {
  const client = await (await Lab.start(t)).raw(t);
  client.write({ id: 99, result: { outcome: { outcome: 'selected', optionId: 'allow' } } });
  client.write(list(1));
  client.write(list(1));
  client.write(list('last'));

  await still(client);
  assert.equal(client.messages.filter(({ id }) => id === 1).length, 2);
});

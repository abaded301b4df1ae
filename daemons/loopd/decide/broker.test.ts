/** Goal: nothing but a whole, valid verdict is ever taken for one. Method: real Unix sockets with brokers that fail. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { AppError } from '../../../shared/errors.ts';
import { Broker } from './broker.ts';

const question = { session: 's', turn: 1, call: 'c1.0.0', tool: 'fs/read', arguments: { path: '/a' } };
const never = new AbortController().signal;

async function brokerThat(t: TestContext, answer: (socket: Socket, line: string) => void, timeoutMs = 1000) {
  const folder = mkdtempSync(join(tmpdir(), 'broker-'));
  const path = join(folder, 'b.sock');
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', (chunk: Buffer) => answer(socket, chunk.toString()));
  });
  await new Promise<void>((resolve) => void server.listen(path, resolve));
  t.after(() => {
    server.close();
    rmSync(folder, { recursive: true });
  });
  return new Broker({ socket: path, timeoutMs });
}

const unavailable = (error: unknown) => error instanceof AppError && error.code === 'broker-unavailable';

test('the broker is asked who wants to call what, and its verdict and rule are taken', async (t) => {
  let asked: unknown;
  const broker = await brokerThat(t, (socket, line) => {
    asked = JSON.parse(line);
    socket.write('{"jsonrpc":"2.0","id":1,"result":{"verdict":"deny","rule":"no files"}}\n');
  });

  assert.deepEqual(await broker.decide(question, never), { verdict: 'deny', rule: 'broker: no files' });
  assert.deepEqual(asked, { jsonrpc: '2.0', id: 1, method: 'decide', params: question });
});

test('an answer that is no verdict is never allow', async (t) => {
  for (const answer of [
    'garbage\n',
    '{"jsonrpc":"2.0","id":1,"result":{"verdict":"ALLOW"}}\n',
    '{"jsonrpc":"2.0","id":1,"result":{"verdict":true}}\n',
    '{"jsonrpc":"2.0","id":2,"result":{"verdict":"allow"}}\n',
    '{"jsonrpc":"2.0","id":1,"result":{"verdict":"allow"},"error":{"code":1,"message":"no"}}\n',
    '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}}\n',
    'null\n',
    '[]\n',
    'x'.repeat(2 * 1024 * 1024),
  ]) {
    const broker = await brokerThat(t, (socket) => socket.write(answer));
    await assert.rejects(broker.decide(question, never), unavailable, answer.slice(0, 80));
  }
});

test('a broker that is absent, hangs up or never answers is broker-unavailable', async (t) => {
  const absent = new Broker({ socket: join(tmpdir(), 'no-such-broker.sock'), timeoutMs: 1000 });
  const hangsUp = await brokerThat(t, (socket) =>
    socket.end('{"jsonrpc":"2.0","id":1,"result":{"verdict":"allow"}'),
  );
  const silent = await brokerThat(t, () => {}, 20);

  for (const broker of [absent, hangsUp, silent])
    await assert.rejects(broker.decide(question, never), unavailable);
});

test('a cancelled turn does not wait for the broker', async (t) => {
  const broker = await brokerThat(t, () => {}, 60_000);
  const cancel = new AbortController();
  const decision = broker.decide(question, cancel.signal);
  cancel.abort();

  await assert.rejects(decision, unavailable);
});

/** Goal: each line gets the reply that JSON-RPC and the protocol table promise, and writes keep their order. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Dispatch } from './dispatch.ts';
import { AppError } from './errors.ts';
import { returns, roles, type Effect, type Protocol } from './protocol/method.ts';
import { integer, object, text } from './schema.ts';

const method = (effect: Effect, allowed: readonly (typeof roles)[number][] = roles) => ({
  about: 'A method of this test.',
  roles: allowed,
  effect,
  params: object({}, { name: text(), count: integer(0, 10) }),
  returns: returns<unknown>('anything'),
});

const protocol = {
  echo: method('read'),
  fail: method('read'),
  guarded: method('read', ['gate']),
  queue: method('queue'),
  exclusive: method('exclusive'),
} satisfies Protocol;

interface Step {
  name: string;
  finish: () => void;
}

function setUp() {
  const order: string[] = [];
  const steps: Step[] = [];
  const slow = ({ name = '' }: { name?: string }) =>
    new Promise<string>((resolve) => {
      order.push(`start ${name}`);
      steps.push({ name, finish: () => (order.push(`end ${name}`), resolve(name)) });
    });
  const dispatch = Dispatch.of({
    protocol,
    context: undefined,
    depthMax: 64,
    onError: () => undefined,
    handlers: {
      echo: (params) => params,
      fail: () => {
        throw new AppError('store-full', 'no space', { details: { free: 3 } });
      },
      guarded: () => true,
      queue: slow,
      exclusive: slow,
    },
  });
  return { dispatch, order, steps };
}

async function reply(
  line: string | undefined,
  role: (typeof roles)[number] = 'loop',
): Promise<Record<string, unknown> | undefined> {
  const text = await setUp().dispatch.connection(role).handle(line);
  if (text === undefined) return undefined;
  assert.ok(text.endsWith('\n'));
  return JSON.parse(text) as Record<string, unknown>;
}

const request = (method: string, params: object = {}, id: unknown = 1) =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params });

async function codeOf(line: string | undefined): Promise<number | undefined> {
  return ((await reply(line))?.['error'] as { code: number } | undefined)?.code;
}

test('a request nested too deep is refused by its own id, and what is no JSON is not called deep', async () => {
  const deep = `${'[{"id":5,"a":'.repeat(40)}"]}"${'}]'.repeat(40)}`;
  const idFirst = `{"jsonrpc":"2.0","id":"x","method":"echo","params":{"name":${deep}}}`;
  const idLast = `{"method":"echo","params":${deep},"jsonrpc":"2.0","id":7}`;
  assert.deepEqual([(await reply(idFirst))?.['id'], await codeOf(idFirst)], ['x', -32600]);
  assert.deepEqual([(await reply(idLast))?.['id'], await codeOf(idLast)], [7, -32600]);

  assert.equal(await codeOf('['.repeat(100)), -32700);
  assert.equal(await codeOf(`${'['.repeat(100)}}`), -32700);
  const batch = await reply(`[${deep}]`);
  assert.deepEqual([batch?.['id'], await codeOf(`[${deep}]`)], [null, -32600]);
});

test('a request is answered with its id, a string or an integer', async () => {
  assert.deepEqual(await reply(request('echo', { name: 'a' })), {
    jsonrpc: '2.0',
    id: 1,
    result: { name: 'a' },
  });
  assert.deepEqual(await reply(request('echo', {}, 'x"y')), { jsonrpc: '2.0', id: 'x"y', result: {} });
});

test('a request without id gets no reply, whatever comes of it', async () => {
  assert.equal(await reply('{"jsonrpc":"2.0","method":"echo"}'), undefined);
  assert.equal(await reply('{"jsonrpc":"2.0","method":"fail"}'), undefined);
  assert.equal(await reply('{"jsonrpc":"2.0","method":"no such"}'), undefined);
});

test('what is no request is told apart from what is no JSON', async () => {
  assert.equal(await codeOf('{'), -32700);
  assert.equal(await codeOf(undefined), -32700);
  for (const line of [
    'null',
    '3',
    '"x"',
    '[]',
    `[${request('echo')}]`,
    '{}',
    '{"jsonrpc":"1.0","id":1,"method":"echo"}',
  ]) {
    assert.equal(await codeOf(line), -32600, line);
  }
  for (const id of [1.5, null, true, {}, 2 ** 60])
    assert.equal(await codeOf(request('echo', {}, id)), -32600);
  assert.equal(await codeOf('['.repeat(100_000) + ']'.repeat(100_000)), -32600);
});

test('methods of every object are no methods of ours', async () => {
  for (const name of ['constructor', '__proto__', 'toString', 'nope', ''])
    assert.equal(await codeOf(request(name)), -32601);
});

test('wrong params are refused by name', async () => {
  const faults = [
    [{ nope: 1 }, 'nope'],
    [{ name: 3 }, 'name'],
    [{ count: 11 }, 'count'],
    [{ count: 1.5 }, 'count'],
  ] as const;
  for (const [params, field] of faults) {
    const error = (await reply(request('echo', params)))?.['error'] as {
      code: number;
      message: string;
      data: { field: string };
    };
    assert.equal(error.code, -32602);
    assert.equal(error.data.field, field);
    assert.match(error.message, new RegExp(field));
  }
  assert.equal(await codeOf('{"jsonrpc":"2.0","id":1,"method":"echo","params":[]}'), -32602);
});

test('an error of the application carries code, runbook, retryable and its details', async () => {
  assert.deepEqual((await reply(request('fail')))?.['error'], {
    code: -32000,
    message: 'no space',
    data: { free: 3, code: 'store-full', runbook: 'store-full', retryable: true },
  });
});

test('a role that may not call a method is told so', async () => {
  const error = (await reply(request('guarded')))?.['error'] as { data: { code: string } };
  assert.equal(error.data.code, 'not-permitted');
  assert.equal((await reply(request('guarded'), 'gate'))?.['result'], true);
});

test('while stopping, new requests are told so', async () => {
  const { dispatch } = setUp();
  dispatch.isStopping = true;
  assert.match(String(await dispatch.connection('loop').handle(request('echo'))), /"code":"stopping"/);
});

test('queued writes start in the order sent, an exclusive one waits for them and holds up those after it', async () => {
  const { dispatch, order, steps } = setUp();
  const connection = dispatch.connection('loop');
  const replies = [
    connection.handle(request('queue', { name: 'a' })),
    connection.handle(request('queue', { name: 'b' })),
    connection.handle(request('exclusive', { name: 'c' })),
    connection.handle(request('queue', { name: 'd' })),
  ];
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(order, ['start a', 'start b']);
  for (let at = 0; at < 4; at += 1) {
    steps[at]?.finish();
    await settle();
  }
  for (const reply of replies) await reply;
  assert.deepEqual(order, ['start a', 'start b', 'end a', 'end b', 'start c', 'end c', 'start d', 'end d']);
});

test('a write that fails does not hold up the next one', async () => {
  const connection = setUp().dispatch.connection('loop');
  assert.match(String(await connection.handle(request('fail'))), /store-full/);
  assert.match(String(await connection.handle(request('echo'))), /result/);
});

/** Goal: a socket carries every request and its reply within its limits, and no client can harm another. Method: real sockets. */
import assert from 'node:assert/strict';
import {
  chmodSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from './client.ts';
import { AppError } from './errors.ts';
import { Dispatch } from './dispatch.ts';
import { returns, roles, type Protocol } from './protocol/method.ts';
import { object, text } from './schema.ts';
import { SocketServer, type LineHandler, type SocketLimits } from './server.ts';

const limits: SocketLimits = {
  lineBytesMax: 10_000,
  inFlightMax: 8,
  connectionsMax: 20,
  unreadBytesMax: 500_000,
};

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'lk-'));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

async function serve(t: TestContext, handle: LineHandler, path = join(folder(t), 's', 'x.sock')) {
  const server = new SocketServer(limits);
  await server.listen({ path, connect: () => handle });
  t.after(() => server.stop(100));
  return { server, path };
}

const echo: LineHandler = (line) => `${line}\n`;

/** Sends bytes and resolves with everything that came back when the server closed. */
function exchange(path: string, ...chunks: (string | Buffer)[]): Promise<string> {
  return new Promise((resolve, reject) => {
    let got = '';
    const socket = connect({ path, allowHalfOpen: true });
    socket.on('data', (chunk) => (got += chunk.toString()));
    socket.on('end', () => (socket.destroy(), resolve(got)));
    socket.on('error', reject);
    for (const chunk of chunks) socket.write(chunk);
    socket.end();
  });
}

test('many requests in one write, CRLF, and a last line without its end are each answered once', async (t) => {
  const { path } = await serve(t, echo);
  assert.equal(await exchange(path, 'a\nb\r\n\nc'), 'a\nb\nc\n');
});

test('a line over the limit is answered with message-too-large and the connection closes', async (t) => {
  const { path } = await serve(t, echo);
  const got = await exchange(path, 'x\n', Buffer.alloc(50_000, 97));
  assert.match(got, /^x\n\{.*"code":"message-too-large".*\}\n$/);
});

test('a client that half closes still gets its late reply', async (t) => {
  const { path } = await serve(t, async (line) => {
    await sleep(20);
    return `${line}\n`;
  });
  assert.equal(await exchange(path, 'late\n'), 'late\n');
});

test('no more requests are under way than the limit allows, and none is lost', async (t) => {
  let now = 0;
  let most = 0;
  const { path } = await serve(t, async (line) => {
    most = Math.max(most, (now += 1));
    await sleep(1);
    now -= 1;
    return `${line}\n`;
  });
  const lines = Array.from({ length: 100 }, (_, at) => String(at));
  const got = await exchange(path, `${lines.join('\n')}\n`);
  assert.deepEqual(got.trim().split('\n'), lines);
  assert.equal(most, limits.inFlightMax);
});

test('a client that never reads is dropped and the others are served', async (t) => {
  const { path, server } = await serve(t, () => `${'y'.repeat(9000)}\n`);
  const greedy = connect(path);
  greedy.pause();
  greedy.on('error', () => undefined);
  await new Promise((resolve) => greedy.once('connect', resolve));
  for (let at = 0; at < 400 && !greedy.destroyed; at += 1) greedy.write('x\n'.repeat(10));
  for (let at = 0; at < 200 && server.connections > 0; at += 1) await sleep(10);
  assert.equal(server.connections, 0);
  assert.equal((await exchange(path, 'x\n')).length, 9001);
  greedy.destroy();
});

test('clients that leave at once do no harm', async (t) => {
  const { path } = await serve(t, async (line) => {
    await sleep(1);
    return `${line}\n`;
  });
  for (let at = 0; at < 15; at += 1) {
    await new Promise<void>((resolve) => {
      const socket: Socket = connect(path, () => {
        socket.write('x\n');
        socket.destroy();
        resolve();
      });
    });
  }
  assert.equal(await exchange(path, 'still here\n'), 'still here\n');
});

test('one connection more than the limit is told so and closed', async (t) => {
  const { path, server } = await serve(t, echo);
  const held: Socket[] = [];
  for (let at = 0; at < limits.connectionsMax; at += 1) held.push(connect(path));
  while (server.connections < limits.connectionsMax) await sleep(5);
  assert.match(await exchange(path, ''), /"code":"too-many-connections"/);
  for (const socket of held) socket.destroy();
});

test("folder and socket are the owner's alone whatever the umask", async (t) => {
  for (const umask of [0o000, 0o022]) {
    const before = process.umask(umask);
    try {
      const { path } = await serve(t, echo, join(folder(t), 'run', 'a.sock'));
      assert.equal(statSync(path).mode & 0o777, 0o600);
      assert.equal(statSync(join(path, '..')).mode & 0o777, 0o700);
    } finally {
      process.umask(before);
    }
  }
});

test('a folder that others could enter is closed to them', async (t) => {
  const run = join(folder(t), 'run');
  mkdirSync(run);
  chmodSync(run, 0o755);
  await serve(t, echo, join(run, 'a.sock'));
  assert.equal(statSync(run).mode & 0o007, 0);
});

test('a path over 107 bytes is refused before listening, by server and client alike', async (t) => {
  const base = folder(t);
  for (const [bytes, fits] of [
    [107, true],
    [108, false],
    [109, false],
    [120, false],
  ] as const) {
    const name = `${'é'.repeat(5)}${'x'.repeat(bytes)}`;
    const path = `${base}/${Buffer.from(name)
      .subarray(0, bytes - Buffer.byteLength(base) - 1)
      .toString()}`;
    assert.equal(Buffer.byteLength(path), bytes);
    const server = new SocketServer(limits);
    const expected = { code: 'socket-path-too-long', details: { path, bytes, limit: 107 } };
    if (fits) await server.listen({ path, connect: () => echo });
    else await assert.rejects(server.listen({ path, connect: () => echo }), expected);
    if (!fits) assert.throws(() => new Client(path, {}, { unavailable: 'memory-unavailable' }), expected);
    await server.stop(100);
  }
});

test('a socket file that nobody listens on is replaced', async (t) => {
  const path = join(folder(t), 'a.sock');
  const script = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`;
  spawnSync(process.execPath, ['-e', script]);
  assert.ok(lstatSync(path).isSocket());
  await serve(t, echo, path);
  assert.equal(await exchange(path, 'x\n'), 'x\n');
});

test('a socket that cannot be listened on is not called in use where nobody uses it', async (t) => {
  const file = openSync(join(folder(t), 'no-socket'), 'w');
  const place = { path: join(folder(t), 'a.sock'), fd: file, connect: () => echo };
  await assert.rejects(new SocketServer(limits).listen(place), { code: 'config-invalid' });
  closeSync(file);
});

test('a socket that is answered, or is no socket, is left alone', async (t) => {
  const path = join(folder(t), 'a.sock');
  const owner = createServer().listen(path);
  await assert.rejects(new SocketServer(limits).listen({ path, connect: () => echo }), {
    code: 'socket-in-use',
  });
  assert.ok(existsSync(path));
  owner.close();
  const file = join(folder(t), 'b.sock');
  writeFileSync(file, 'mine');
  await assert.rejects(new SocketServer(limits).listen({ path: file, connect: () => echo }), {
    code: 'socket-in-use',
  });
  assert.ok(existsSync(file));
});

const protocol = {
  write: {
    about: 'A write of this test.',
    roles,
    effect: 'queue',
    params: object({ name: text() }, { request_id: text() }),
    returns: returns<{ name: string; seen: number }>('{ name, seen }'),
  },
} as const satisfies Protocol;

test('a call that is cut off is repeated once with the same request_id, over a new connection', async (t) => {
  const path = join(folder(t), 'a.sock');
  const ids: (string | undefined)[] = [];
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    const isFirst = connections === 1;
    const dispatch = Dispatch.of({
      protocol,
      context: undefined,
      depthMax: 64,
      onError: () => undefined,
      handlers: { write: ({ name, request_id }) => (ids.push(request_id), { name, seen: ids.length }) },
    }).connection('loop');
    socket.on('data', (chunk) => {
      const reply = dispatch.handle(chunk.toString().trim()) as string;
      if (isFirst) socket.destroy();
      else socket.write(reply);
    });
  }).listen(path);
  t.after(() => server.close());
  const client = new Client(path, protocol, { unavailable: 'memory-unavailable' });
  t.after(() => client.close());
  assert.deepEqual(await client.call('write', { name: 'a' }), { name: 'a', seen: 2 });
  assert.equal(ids[0], ids[1]);
  assert.ok(ids[0]);
});

test('a daemon that is not there, or does not answer in time, is the unavailable error', async (t) => {
  const path = join(folder(t), 'a.sock');
  const client = new Client(path, protocol, { unavailable: 'memory-unavailable' });
  await assert.rejects(client.call('write', { name: 'a' }), {
    code: 'memory-unavailable',
    details: { errno: 'ENOENT' },
  });
  const silent = createServer().listen(path);
  t.after(() => silent.close());
  await assert.rejects(
    client.call('write', { name: 'a' }, { timeoutMs: 50 }),
    (error) => error instanceof AppError && error.code === 'memory-unavailable',
  );
  client.close();
});

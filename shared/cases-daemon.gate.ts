/**
 * Goal: what broke the sockets, the lives and the stores of such daemons does not break ours. Method: each report boiled
 * down to its smallest input, on real daemons, with bytes written by hand where a client of ours would be too polite. The
 * number is the case, the link the report it comes from.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from './client.ts';
import type { AppError } from './errors.ts';
import { homeOf } from './home.ts';
import { memorydProtocol, type MemorydProtocol } from './protocol/memoryd.ts';
import { startDaemon, temporaryHome, type DaemonName, type RunningDaemon } from './testing/start-daemon.ts';

const mebibyte = 1024 * 1024;

class Stage {
  readonly home: string;
  readonly ops: string;
  readonly #daemons: RunningDaemon[] = [];
  readonly #sockets: Socket[] = [];
  readonly client: Client<MemorydProtocol>;

  constructor(t: TestContext, below = '') {
    const { home, remove } = temporaryHome();
    this.home = join(home, below);
    mkdirSync(this.home, { recursive: true });
    this.ops = homeOf({ home: this.home }).memorySockets.ops;
    this.client = new Client(this.ops, memorydProtocol, {
      unavailable: 'memory-unavailable',
      connectMs: 5000,
    });
    t.after(async () => {
      this.client.close();
      for (const socket of this.#sockets) socket.destroy();
      await Promise.all(this.#daemons.map((daemon) => daemon.kill()));
      remove();
    });
  }

  async start(name: DaemonName = 'memoryd', nodeArgs: readonly string[] = []): Promise<RunningDaemon> {
    const daemon = await startDaemon(name, this.home, { nodeArgs });
    this.#daemons.push(daemon);
    return daemon;
  }

  /** How a start ended that did not get ready. */
  async refused(name: DaemonName = 'memoryd'): Promise<{ status: number; output: string }> {
    const ended = await this.start(name).then(
      () => assert.fail(`${name} is ready`),
      (error: Error) => error.message,
    );
    return { status: Number(/ended with (\d+)/.exec(ended)?.[1]), output: ended };
  }

  /** A daemon that cannot keep up with its connections is asked again. */
  async socket(path = this.ops): Promise<Socket> {
    for (;;) {
      const socket = connect({ path, allowHalfOpen: true });
      this.#sockets.push(socket);
      const failed = await once(socket, 'connect').then(
        () => undefined,
        (error: NodeJS.ErrnoException) => error,
      );
      if (failed === undefined) return socket.on('error', () => {});
      if (failed.code !== 'EAGAIN') throw failed;
      await sleep(5);
    }
  }

  async put(value: string): Promise<void> {
    const record = { run_id: 'r', key: 'k', value };
    await this.client.call('record/put', { kind: 'scratchpad', record });
  }

  async value(): Promise<unknown> {
    const { record } = await this.client.call('record/get', { kind: 'scratchpad', run_id: 'r', key: 'k' });
    return record?.['value'];
  }
}

interface Reply {
  readonly id: unknown;
  readonly result?: unknown;
  readonly error?: { code: number; message: string; data?: { code?: string } };
}

/** Every line until the other side ends. */
async function repliesOf(socket: Socket): Promise<Reply[]> {
  const pieces: Buffer[] = [];
  socket.on('data', (piece: Buffer) => pieces.push(piece));
  socket.once('end', () => socket.destroy());
  await once(socket, 'close');
  const lines = Buffer.concat(pieces).toString().split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Reply);
}

const request = (id: number, method: string, params: object = {}) =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params });

// B098 https://github.com/nodejs/node/issues/48316, https://github.com/GrahamDumpleton/mod_wsgi/issues/35
for (const [name, letter] of [
  ['of one byte a letter', 'x'],
  ['of two bytes a letter', 'é'],
] as const) {
  test(`a socket path ${name} may have 107 bytes, and a longer one is refused by daemon and client, with its length`, async (t) => {
    for (const bytes of [107, 108, 109, 120]) {
      const bare = new Stage(t);
      const missing = bytes - Buffer.byteLength(join(bare.home, '/', 'run/loop-memory/memory.sock')) - 1;
      const width = Buffer.byteLength(letter);
      const pad = letter.repeat(Math.floor(missing / width)) + 'y'.repeat(missing % width);
      const stage = new Stage(t, '');
      const home = join(stage.home, pad);
      mkdirSync(home);
      const path = homeOf({ home }).memorySockets.loop;
      assert.equal(Buffer.byteLength(path), bytes);
      const connecting = () => new Client(path, memorydProtocol, { unavailable: 'memory-unavailable' });
      if (bytes === 107) {
        connecting().close();
        const daemon = await startDaemon('memoryd', home);
        assert.ok(existsSync(path));
        await daemon.stop();
        continue;
      }
      assert.throws(connecting, (error: AppError) => error.code === 'socket-path-too-long');
      const ended = await startDaemon('memoryd', home).then(
        () => assert.fail('it listens'),
        (error: Error) => error.message,
      );
      for (const told of ['socket-path-too-long', path, String(bytes), '107'])
        assert.ok(ended.includes(told), told);
      assert.deepEqual(readdirSync(stage.home), [pad]);
      assert.ok(
        !existsSync(join(home, 'run', 'loop-memory')) ||
          readdirSync(join(home, 'run', 'loop-memory')).length === 0,
      );
    }
  });
}

// B099 https://github.com/thin-edge/thin-edge.io/pull/4264, B115 https://github.com/dgraph-io/badger/issues/433
test('what SIGKILL leaves, socket files and LOCK, is no obstacle to the next start of either daemon', async (t) => {
  const stage = new Stage(t);
  const memoryd = await stage.start();
  const loopd = await stage.start('loopd');
  await stage.put('kept');
  await Promise.all([memoryd.kill(), loopd.kill()]);
  assert.ok(existsSync(stage.ops));
  assert.ok(existsSync(join(stage.home, 'store', 'records', 'LOCK')));
  await stage.start();
  await stage.start('loopd');
  assert.equal(await stage.value(), 'kept');
  const channel = await stage.socket(homeOf({ home: stage.home }).channelSocket);
  channel.end();
});

test('the entry on a locked store says that LOCK is never to be deleted', () => {
  const entry = readFileSync(new URL('../runbook/store-locked.md', import.meta.url), 'utf8');
  assert.match(entry, /Never delete a lock file.*LOCK/);
});

// B100 https://github.com/reddb-io/red-skills/issues/3186, https://github.com/clawnify/ateam/pull/50
// B114 https://github.com/Level/levelup/issues/667, https://github.com/google/leveldb/issues/985
for (const name of ['memoryd', 'loopd'] as const) {
  test(`a second ${name} beside one that is too busy to answer says who runs and ends with 75; the first goes on`, async (t) => {
    const stage = new Stage(t);
    const first = await stage.start(name);
    const path = name === 'memoryd' ? stage.ops : homeOf({ home: stage.home }).channelSocket;
    const before = statSync(path).ino;
    process.kill(first.pid, 'SIGSTOP');
    try {
      const { status, output } = await stage.refused(name);
      assert.equal(status, 75);
      assert.ok(output.includes(String(first.pid)), output);
    } finally {
      process.kill(first.pid, 'SIGCONT');
    }
    assert.equal(statSync(path).ino, before);
    const socket = await stage.socket(path);
    const replies = repliesOf(socket);
    socket.end(`${request(1, name === 'memoryd' ? 'status' : '_loopkeep/status')}\n`);
    assert.ok((await replies)[0]?.result !== undefined);
  });
}

// B101 https://github.com/mpiton/tauri-pilot/issues/195, https://github.com/tiian/flom/issues/6
test('of twenty starts at once over the leavings of a killed one, exactly one owns the socket and answers', async (t) => {
  const stage = new Stage(t);
  await (await stage.start()).kill();
  const starts = await Promise.allSettled(Array.from({ length: 20 }, () => stage.start()));
  const ready = starts.filter(({ status }) => status === 'fulfilled');
  assert.equal(ready.length, 1);
  for (const start of starts)
    if (start.status === 'rejected') assert.match((start.reason as Error).message, /ended with 75/);
  await stage.put('mine');
  assert.equal(await stage.value(), 'mine');
});

// B103 https://github.com/nrwl/nx/pull/34151, https://github.com/apify/mcpc/pull/390
test('text is the same however its bytes are cut, and each request has one reply', async (t) => {
  const stage = new Stage(t);
  await stage.start();
  const text = 'é漢😀';
  const put = request(1, 'record/put', {
    kind: 'scratchpad',
    record: { run_id: 'r', key: 'k', value: text },
  });
  const slow = await stage.socket();
  slow.setNoDelay(true);
  const slowReplies = repliesOf(slow);
  for (const byte of Buffer.from(`${put}\n`)) {
    slow.write(Buffer.from([byte]));
    await new Promise((resolve) => setImmediate(resolve));
  }
  slow.end();
  assert.deepEqual(
    (await slowReplies).map(({ id, error }) => [id, error]),
    [[1, undefined]],
  );
  assert.equal(await stage.value(), text);

  const many = await stage.socket();
  const manyReplies = repliesOf(many);
  const three = [2, 3, 4].map((id) =>
    request(id, 'record/get', { kind: 'scratchpad', run_id: 'r', key: 'k' }),
  );
  // Three at once, a CR before one line end, an empty line, and no line end after the last.
  many.end(`${three[0]}\r\n\n${three[1]}\n${three[2]}`);
  const replies = await manyReplies;
  assert.deepEqual(new Set(replies.map(({ id }) => id)), new Set([2, 3, 4]));
  assert.equal(replies.length, 3);
  for (const { result } of replies)
    assert.equal((result as { record: { value: string } }).record.value, text);
});

// B104 https://github.com/jamulussoftware/jamulus/pull/3861
test('a line that never ends is refused by name at its cap, and costs no memory', async (t) => {
  const stage = new Stage(t);
  await stage.start();
  const rss = async () => Number((await stage.client.call('status', {}))['memory_rss_bytes']);
  const before = await rss();
  for (let times = 0; times < 3; times += 1) {
    const socket = await stage.socket();
    const replies = repliesOf(socket);
    const chunk = Buffer.alloc(mebibyte, 'x');
    for (let sent = 0; sent < 200 && !socket.destroyed && socket.writable; sent += 1)
      await new Promise<void>((resolve) => socket.write(chunk, () => resolve()));
    socket.end();
    const [refusal] = await replies;
    assert.equal(refusal?.error?.data?.code, 'message-too-large');
    assert.ok((await rss()) - before < 64 * mebibyte);
  }
});

// B106 https://github.com/i3/i3/issues/2999, https://github.com/kaeawc/auto-mobile/issues/6508
test('a client that asks for much and never reads is dropped, and others are served meanwhile', async (t) => {
  const stage = new Stage(t);
  await stage.start();
  await stage.put('v'.repeat(900_000));
  const socket = await stage.socket();
  socket.pause();
  const isDropped = new Promise<void>((resolve) => {
    for (const sign of ['end', 'close'] as const) socket.once(sign, () => resolve());
  });
  for (let id = 1; id <= 64; id += 1)
    socket.write(`${request(id, 'record/get', { kind: 'scratchpad', run_id: 'r', key: 'k' })}\n`);
  for (let times = 0; times < 20; times += 1) assert.equal(String(await stage.value()).length, 900_000);
  socket.resume();
  await isDropped;
  assert.equal((await stage.client.call('status', {})).state, 'ready');
});

// B107 https://github.com/getpaseo/paseo/issues/550, https://github.com/nrwl/nx/pull/34311
test('a thousand clients that leave right after asking leave whole effects or none, and a daemon that lives', async (t) => {
  const stage = new Stage(t);
  const { pid } = await stage.start();
  const entry = { run_id: 'r', iteration: 1, kind: 'run_started', created_ms: 1 };
  for (let lane = 0; lane < 1000; lane += 25) {
    await Promise.all(
      Array.from({ length: 25 }, async (_, at) => {
        const socket = await stage.socket();
        const record = { ...entry, detail: `leaves ${lane + at} ${'d'.repeat(100)}` };
        socket.write(
          `${request(1, 'record/put', { kind: 'ledger', record })}\n${request(2, 'recall', { query: '' })}\n`,
        );
        if (at % 2 === 0) await new Promise((resolve) => setImmediate(resolve));
        socket.destroy();
      }),
    );
  }
  const { records } = await stage.client.call('record/list', { kind: 'ledger', limit: 1000 });
  for (const { record } of records) assert.match(String(record['detail']), /^leaves \d+ d{100}$/);
  const details = records.map(({ record }) => record['detail']);
  assert.equal(new Set(details).size, details.length);
  assert.equal((await stage.client.call('status', {})).pid, pid);
});

function modesBelow(folder: string): [path: string, mode: number, isFolder: boolean][] {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).map((entry) => {
    const path = join(entry.parentPath, entry.name);
    return [path, statSync(path).mode & 0o777, entry.isDirectory()];
  });
}

// B109 https://github.com/zowe/zowe-cli/pull/2743, https://github.com/lneely/pcloudcc-lneely/issues/203
for (const umask of [0o000, 0o022]) {
  test(`with a umask of ${umask.toString(8).padStart(3, '0')} nothing in a home is for others`, async (t) => {
    const before = process.umask(umask);
    t.after(() => process.umask(before));
    const stage = new Stage(t);
    const memoryd = await stage.start();
    const loopd = await stage.start('loopd');
    await stage.put('v');
    await stage.client.call('memory', { action: 'add', file: 'memory', text: 'a fact' });
    await stage.client.call('backup', { to: join(stage.home, 'backup') });
    const socket = await stage.socket(homeOf({ home: stage.home }).channelSocket);
    const replies = repliesOf(socket);
    socket.write(`${request(1, 'initialize', { protocolVersion: 1 })}\n`);
    socket.write(`${request(2, 'session/new', { cwd: '/', mcpServers: [] })}\n`);
    const sessions = join(stage.home, 'sessions');
    while (!readdirSync(sessions).some((name) => name.endsWith('.jsonl'))) await sleep(10);
    socket.end();
    await replies;
    await Promise.all([memoryd.stop(), loopd.stop()]);
    const open = modesBelow(stage.home).filter(([, mode, isFolder]) => mode !== (isFolder ? 0o700 : 0o600));
    assert.deepEqual(
      open.map(([path, mode]) => `${path.slice(stage.home.length)} ${mode.toString(8)}`),
      [],
    );
  });
}

// B111 https://github.com/ScriptedAlchemy/tracedecay/issues/764, https://github.com/nowledge-co/community/issues/374
// B116 https://github.com/Level/leveldown/issues/194
test('a stop in the middle of a rebuild, beside an idle client and running recalls, is clean and loses nothing', async (t) => {
  const stage = new Stage(t);
  const sessions = join(stage.home, 'sessions');
  mkdirSync(sessions, { recursive: true });
  const at = '2026-11-30T10:00:00.000Z';
  const baseline = { system: '', tools: [], version: '', tokens: 0 };
  for (let session = 0; session < 40; session += 1) {
    const id = `s${session}`;
    const header = { v: 1, seq: 0, at, type: 'session', id, origin: 'person', model: '', baseline };
    const turns = Array.from({ length: 200 }, (_, turn) => ({
      v: 1,
      seq: turn + 1,
      at,
      type: 'turn',
      turn,
      text: `kettle${session} boiled ${turn} times`,
    }));
    writeFileSync(
      join(sessions, `${id}.jsonl`),
      [header, ...turns].map((line) => `${JSON.stringify(line)}\n`).join(''),
    );
  }
  const memoryd = await stage.start();
  while ((await stage.client.call('status', {})).index.state !== 'ok') await sleep(20);
  const idle = await stage.socket();
  const socket = await stage.socket();
  const replies = repliesOf(socket);
  socket.write(`${request(100, 'reindex')}\n`);
  for (let id = 0; id < 10; id += 1)
    socket.write(`${request(id, 'recall', { query: `kettle${id} boiled`, window: 10 })}\n`);
  await sleep(5);
  assert.equal(await memoryd.stop(), 0);
  const answers = await replies;
  assert.equal(answers.length, 11, 'what was accepted is answered, done or not');
  for (const { result, error } of answers) {
    if (result === undefined) assert.equal(error?.data?.code, 'stopping');
  }
  idle.destroy();

  await stage.start();
  while ((await stage.client.call('status', {})).index.state !== 'ok') await sleep(20);
  const { hits } = await stage.client.call('recall', { query: 'kettle39 boiled 199 times', limit: 1 });
  assert.equal(hits[0]?.text, 'kettle39 boiled 199 times');
  assert.deepEqual((await stage.client.call('verify', {})).index, { equal: true, differences: [] });
});

// B118 https://github.com/google/leveldb/issues/333, https://github.com/google/leveldb/issues/75
for (const [name, pattern, damage] of [
  ['a table of 0 bytes', /\.ldb$/, (path: string) => truncateSync(path, 0)],
  [
    'a table cut in half',
    /\.ldb$/,
    (path: string) => truncateSync(path, Math.floor(statSync(path).size / 2)),
  ],
  ['a table that is gone', /\.ldb$/, (path: string) => unlinkSync(path)],
  [
    'CURRENT without its line end',
    /^CURRENT$/,
    (path: string) => truncateSync(path, statSync(path).size - 1),
  ],
  ['CURRENT of 0 bytes', /^CURRENT$/, (path: string) => truncateSync(path, 0)],
  [
    'the last log without its last block',
    /\.log$/,
    (path: string) => truncateSync(path, Math.floor(statSync(path).size / 2)),
  ],
] as const) {
  test(`a store with ${name} is named as damaged and left alone, and memory is not served by halves`, async (t) => {
    const stage = new Stage(t);
    const first = await stage.start();
    await stage.put('a'.repeat(1000));
    await stage.client.call('compact', {});
    await stage.put('b'.repeat(1000));
    await stage.client.call('memory', { action: 'add', file: 'memory', text: 'a fact' });
    await first.kill();
    const records = join(stage.home, 'store', 'records');
    const victims = readdirSync(records).filter((file) => pattern.test(file));
    const [victim] = victims.toSorted(
      (one, other) => statSync(join(records, other)).size - statSync(join(records, one)).size,
    );
    assert.ok(victim, `no file like ${pattern} in ${readdirSync(records).join(' ')}`);
    damage(join(records, victim));
    const sizes = () => readdirSync(records).map((file) => `${file} ${statSync(join(records, file)).size}`);
    const left = sizes();

    const daemon = await stage.start();
    assert.ok(daemon.lines.some(({ code }) => code === 'store-damaged'));
    const damaged = { code: 'store-damaged' };
    await assert.rejects(stage.value(), damaged);
    await assert.rejects(stage.put('c'), damaged);
    await assert.rejects(stage.client.call('memory', { action: 'add', file: 'memory', text: 'b' }), damaged);
    assert.match((await stage.client.call('block', {})).text, /a fact/);
    assert.equal((await stage.client.call('status', {})).store.state, 'damaged');
    assert.deepEqual(sizes(), left);
  });
}

/**
 * Goal: what is promised of sockets, messages and request ids holds, byte for byte.
 * Method: the real daemon, asked over its sockets with bytes written by hand, no client of ours in between.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'node:test';
import { startDaemon } from '../../shared/testing/start-daemon.ts';
import { BareDaemon } from './testing/bare-daemon.ts';
import { codeOf, openWire, type Answer, type Wire } from './testing/wire.ts';

const bare = BareDaemon.forAll();
const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);
const ledger = (run_id: string, detail = '') => ({
  run_id,
  iteration: 1,
  kind: 'run_started',
  detail,
  created_ms: 1,
});

test('folders are 0700 and sockets and files 0600, whatever the umask', async () => {
  await bare.ask('memory', { action: 'add', file: 'user', text: 'modes' });
  for (const folder of [
    'run',
    'run/loop-memory',
    'run/gate-memory',
    'run/ops-memory',
    'memory',
    'store',
    'store/records',
  ])
    assert.equal(modeOf(bare.path(folder)), '700', folder);
  for (const file of ['memory/user.md', 'store/memoryd.lock', 'store/records/CURRENT'])
    assert.equal(modeOf(bare.path(file)), '600', file);
  for (const role of ['loop', 'gate', 'ops'] as const) assert.equal(modeOf(bare.socket(role)), '600');
});

test('a second memoryd ends with 75, names the first, and leaves its sockets alone', async () => {
  const inode = statSync(bare.socket('loop')).ino;
  await assert.rejects(startDaemon('memoryd', bare.home), (error: Error) => {
    assert.match(error.message, /^memoryd ended with 75/);
    assert.match(error.message, new RegExp(`store-locked.*"pid":${bare.memoryd.pid}`));
    return true;
  });
  assert.equal(statSync(bare.socket('loop')).ino, inode);
  assert.ok('result' in (await bare.ask('block')));
});

test('what is not a socket is never removed, and nobody who answers is pushed aside', async (t) => {
  const other = new BareDaemon();
  t.after(() => other.end());
  const path = other.socket('loop');
  mkdirSync(other.path('run', 'loop-memory'), { recursive: true });
  writeFileSync(path, 'precious');
  await assert.rejects(startDaemon('memoryd', other.home), /ended with 75[^]*socket-in-use/);
  assert.equal(readFileSync(path, 'utf8'), 'precious');
  rmSync(path);

  const listening = createServer().listen(path);
  await once(listening, 'listening');
  await assert.rejects(startDaemon('memoryd', other.home), /ended with 75[^]*socket-in-use/);
  assert.ok(statSync(path).isSocket());
  listening.close();
});

test('a line ends at LF alone; CR and empty lines are tolerated, and ids come back as they were', async () => {
  const asking = await bare.wire();
  asking.write('\n\r\n\n{"jsonrpc":"2.0","id":"\\u2028é😀","method":"block"}\r\n');
  assert.equal((await asking.next())?.id, '\u2028é😀');
  for (const byte of Buffer.from('{"jsonrpc":"2.0","id":-3,"method":"block"}\n'))
    asking.write(Buffer.from([byte]));
  assert.equal((await asking.next())?.id, -3);
  asking.write('{"jsonrpc":"2.0","id":"\\ud800x","method":"block"}\n');
  assert.equal((await asking.next())?.id, '\ufffdx');
});

test('each kind of wrong message has its code, and the connection stays', async () => {
  const asking = await bare.wire();
  const wrong: [string | Buffer, number][] = [
    ['nope', -32700],
    ['['.repeat(100), -32700],
    [Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), -32700],
    ...['1', 'null', '[]', '{}', '{"jsonrpc":"2.0","id":1}', '{"jsonrpc":"1.0","id":1,"method":"block"}'].map(
      (line) => [line, -32600] as [string, number],
    ),
    ...['1.5', 'null', 'true', '{}'].map(
      (id) => [`{"jsonrpc":"2.0","id":${id},"method":"block"}`, -32600] as [string, number],
    ),
    ...['nope', '__proto__', 'toString', ''].map(
      (name) => [`{"jsonrpc":"2.0","id":1,"method":"${name}"}`, -32601] as [string, number],
    ),
    ...['[]', 'null', '"x"', '{"a":1}', '{"__proto__":1}'].map(
      (params) =>
        [`{"jsonrpc":"2.0","id":1,"method":"block","params":${params}}`, -32602] as [string, number],
    ),
  ];
  for (const [line, code] of wrong) {
    asking.write(Buffer.concat([Buffer.from(line as string), Buffer.from('\n')]));
    const answer = await asking.next();
    assert.equal(answer?.error?.code, code, String(line).slice(0, 80));
  }
  assert.ok('result' in (await asking.ask('block')));
});

test('64 levels are taken; what is deeper is refused by its own id', async () => {
  const asking = await bare.wire();
  const nested = (levels: number) =>
    `{"jsonrpc":"2.0","id":"deep","method":"record/put","params":{"kind":"ledger","record":${'['.repeat(levels - 2)}${']'.repeat(levels - 2)}}}\n`;
  asking.write(nested(64));
  assert.equal((await asking.next())?.error?.code, -32602);
  asking.write(nested(65));
  const { id, error } = (await asking.next()) ?? {};
  assert.deepEqual([id, error?.code], ['deep', -32600]);
});

test('a notification gets no reply, whatever comes of it', async () => {
  const asking = await bare.wire();
  for (const line of ['"method":"block"', '"method":"nope"', '"method":"block","params":{"x":1}'])
    asking.write(`{"jsonrpc":"2.0",${line}}\n`);
  asking.write('{"jsonrpc":"2.0","id":9,"method":"block"}\n');
  assert.equal((await asking.next())?.id, 9);
});

test('a line of 8 MiB is taken; after a longer one the earlier is answered and the connection closed', async () => {
  const head = '{"jsonrpc":"2.0","id":1,"method":"record/put","params":{"kind":"ledger","record":"';
  const room = 8 * 1024 * 1024 - head.length - 3;
  const asking = await bare.wire();
  asking.write(`${head}${'x'.repeat(room)}"}}\n`);
  assert.equal((await asking.next())?.error?.code, -32602);
  asking.write(`{"jsonrpc":"2.0","id":2,"method":"block"}\n${head}${'x'.repeat(room + 1)}"}}\n`);
  assert.equal((await asking.next())?.id, 2);
  const last = await asking.next();
  assert.deepEqual([last?.id, codeOf(last)], [null, 'message-too-large']);
  assert.ok(await asking.closes());
});

test('of 257 connections one is told so and closed, and the others go on', async () => {
  const opened: Wire[] = [];
  let told: Answer | undefined;
  while (told === undefined && opened.length < 300) {
    const one = await openWire(bare.socket(opened.length % 2 === 0 ? 'loop' : 'gate'));
    opened.push(one);
    one.write('{"jsonrpc":"2.0","id":1,"method":"block"}\n');
    const answer = await one.next();
    if (answer?.id === null) told = answer;
  }
  assert.equal(codeOf(told), 'too-many-connections');
  assert.ok(await opened.at(-1)?.closes());
  assert.ok('result' in (await opened[0]!.ask('block')));
  for (const one of opened) one.close();
});

test('who does not read is dropped beyond 16 MiB, not before', async () => {
  const value = 'x'.repeat(1_000_000);
  await bare.ask('record/put', { kind: 'scratchpad', record: { run_id: 'large', key: 'k', value } });
  const get = '"method":"record/get","params":{"kind":"scratchpad","run_id":"large","key":"k"}';
  const requests = (count: number) =>
    Array.from({ length: count }, (_, id) => `{"jsonrpc":"2.0","id":${id},${get}}\n`).join('');
  const connections = async () => Number((await bare.ask('status')).result?.['connections']);
  const before = await connections();

  const [slow, silent] = [await bare.wire(), await bare.wire()];
  slow.pause();
  slow.write(requests(12));
  silent.pause();
  silent.write(requests(60));
  // Each question is a connection of its own, and the one before may not be gone yet when the next is counted.
  let open = await connections();
  for (let tries = 0; tries < 400 && open > before + 1; tries += 1) {
    await sleep(50);
    open = await connections();
  }
  assert.equal(open, before + 1);
  slow.resume();
  for (let id = 0; id < 12; id += 1) assert.ok('result' in ((await slow.next()) ?? {}));
});

test('writes of one connection take effect in the order sent, of both kinds', async () => {
  const asking = await bare.wire();
  const puts = Array.from({ length: 60 }, (_, at) => String(at));
  for (const value of puts) {
    asking.send(`p${value}`, 'record/put', {
      kind: 'scratchpad',
      record: { run_id: 'order', key: 'k', value },
    });
    if (Number(value) % 7 === 0)
      asking.send(`m${value}`, 'memory', { action: 'add', file: 'memory', text: value });
  }
  for (let count = 0; count < 69; count += 1) assert.ok('result' in ((await asking.next()) ?? {}));
  const last = await asking.ask('record/get', { kind: 'scratchpad', run_id: 'order', key: 'k' });
  assert.equal((last.result as unknown as { record: { value: string } }).record.value, '59');
  const view = await asking.ask('memory', { action: 'view', file: 'memory' });
  assert.deepEqual(view.result?.['entries'], ['0', '7', '14', '21', '28', '35', '42', '49', '56']);
});

const put = { kind: 'ledger', record: ledger('once', 'x'), request_id: 'one' };

test('is done once and answered alike: while it runs, after a kill, and for each role by itself', async () => {
  const asking = await bare.wire();
  for (let id = 0; id < 10; id += 1) asking.send(String(id), 'record/put', put);
  const keys = new Set<unknown>();
  for (let id = 0; id < 10; id += 1) keys.add((await asking.next())?.result?.['key']);
  assert.equal(keys.size, 1);

  await bare.memoryd.kill();
  await bare.start({ TZ: 'Europe/Berlin' });
  assert.equal((await bare.ask('record/put', put)).result?.['key'], [...keys][0]);
  assert.notEqual((await bare.ask('record/put', put, 'gate')).result?.['key'], [...keys][0]);
  const listed = await bare.ask('record/list', { kind: 'ledger', run_id: 'once' });
  assert.equal((listed.result as unknown as { records: unknown[] }).records.length, 2);
});

test('with other content is refused, whatever the method', async () => {
  for (const [method, params] of [
    ['record/put', { ...put, record: ledger('once', 'y') }],
    ['memory', { action: 'add', file: 'memory', text: 'x', request_id: 'one' }],
    ['record/flush', { request_id: 'one' }],
  ] as const)
    assert.equal(codeOf(await bare.ask(method, params)), 'request-reused', method);
});

test('of a refusal is not remembered', async () => {
  const refused = { kind: 'scratchpad', record: { run_id: '', key: 'k', value: 'v' }, request_id: 'two' };
  assert.equal(codeOf(await bare.ask('record/put', refused)), 'rejected');
  assert.ok(
    'result' in (await bare.ask('record/put', { ...refused, record: { run_id: 'r', key: 'k', value: 'v' } })),
  );
});

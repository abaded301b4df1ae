/**
 * Goal: what the channel and the session logs promise holds for a program that knows nothing but them. Method: the real
 * loopd as a child process, lines of JSON on its socket without the SDK, its files read from the disk; in memoryd's
 * place the real one, or a socket that does what a test writes down.
 */
import assert from 'node:assert/strict';
import { appendFileSync, chmodSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Box, reply, type Asked } from '../testing/box.ts';
import type { RawMessage } from '../testing/channel-clients.ts';

function refusal({ error }: RawMessage): unknown[] {
  const { code, data } = error ?? {};
  return [code, data?.['code'], data?.['runbook'], data?.['retryable'], data?.['cause']];
}

test('without a block there is neither session nor file, and the cause says why', async (t) => {
  const box = await Box.open(t);
  await box.start('loopd');
  const client = await box.client();
  const none = (cause: string) => [-32603, 'memory-unavailable', 'memory-unavailable', true, cause];

  assert.deepEqual(refusal(await box.newSession(client)), none('ENOENT'), 'no socket');
  const stopping = { code: 'stopping', runbook: 'stopping', retryable: true };
  const pretenders: [string, (socket: Socket, asked: Asked) => void][] = [
    ['timeout', () => {}],
    ['closed', (socket) => void socket.destroy()],
    ['closed', (socket) => void socket.write('no JSON\n')],
    ['no-block-in-reply', (socket, asked) => reply(socket, asked, { result: {} })],
    [
      'stopping',
      (socket, asked) => reply(socket, asked, { error: { code: -32000, message: 'x', data: stopping } }),
    ],
  ];
  for (const [cause, answer] of pretenders) {
    const end = await box.pretend(answer);
    assert.deepEqual(refusal(await box.newSession(client)), none(cause));
    await end();
  }

  const memoryd = await box.start('memoryd');
  const file = join(box.home, 'memory', 'memory.md');
  mkdirSync(dirname(file), { recursive: true });
  const unreadable: (() => void)[] = [
    () => (writeFileSync(file, '- tea\n'), chmodSync(file, 0o000)),
    () => (rmSync(file), writeFileSync(file, Buffer.from([0x2d, 0x20, 0xff, 0x0a]))),
    () => (rmSync(file), mkdirSync(file)),
  ];
  for (const spoil of unreadable) {
    spoil();
    assert.deepEqual(refusal(await box.newSession(client)), none('memory-unreadable'));
  }
  rmSync(file, { recursive: true });
  await memoryd.kill();
  assert.deepEqual(refusal(await box.newSession(client)), none('ECONNREFUSED'), 'nobody listens any more');
  assert.deepEqual(box.logs, []);

  await box.start('memoryd');
  assert.equal((await box.newSession(client)).error, undefined, 'and it works as soon as there is a block');
});

test('the baseline is system.md trimmed, a blank line and the block, or system.md alone, as the model gets it', async (t) => {
  const box = await Box.open(t, { text: 'one' });
  const system = 'Be kind.\n\nAnd brief.';
  writeFileSync(join(box.home, 'system.md'), `${system} \n\n\t\n`);
  appendFileSync(join(box.home, 'loopd.toml'), `[baseline]\nsystem = "${join(box.home, 'system.md')}"\n`);
  await box.start('memoryd');
  await box.start('loopd');
  const client = await box.client();
  const memory = await box.client(box.memorySocket);

  const empty = (await box.newSession(client)).result?.['sessionId'] as string;
  await box.ask(memory, 'memory', { action: 'add', file: 'memory', text: 'tea' });
  const block = (await box.ask(memory, 'block')).result as { text: string; version: string };
  const full = (await box.newSession(client)).result?.['sessionId'] as string;
  await box.prompt(client, full, 'hello');

  const baselines = [empty, full].map((id) => {
    const [first] = box.records(id);
    return first?.type === 'session' ? first.baseline : undefined;
  });
  assert.deepEqual(
    baselines.map((baseline) => baseline?.system),
    [system, `${system}\n\n${block.text}`],
  );
  assert.equal(baselines[1]?.version, block.version);
  const names = ['clock', 'recall', 'memory', 'find_tool', 'call_tool'];
  assert.deepEqual(
    baselines[1]?.tools.map((tool) => tool.function.name),
    names,
  );
  const sent = JSON.parse(box.model.requests[0]?.text ?? '') as { messages: unknown[]; tools: unknown };
  assert.deepEqual(sent.messages[0], { role: 'system', content: baselines[1]?.system });
  assert.equal(JSON.stringify(sent.tools), JSON.stringify(baselines[1]?.tools));
  assert.equal(statSync(box.path(full)).mode & 0o777, 0o600);
});

test('a turn is on the disk before the model is asked, and its intent before the tool runs, with the key that the tool gets', async (t) => {
  const call = { name: 'memory', arguments: '{"action":"add","text":"tea"}' };
  const box = await Box.open(t, { calls: [call], hold: 'headers' }, { text: 'Done.' });
  const seen: string[][] = [];
  let key: unknown;
  const types = () =>
    box.logs.flatMap((name) => box.records(name.replace('.jsonl', '')).map(({ type }) => type));
  await box.pretend((socket, asked) => {
    if (asked.method === 'memory') {
      seen.push(types());
      key = asked.params['request_id'];
    }
    const result =
      asked.method === 'block'
        ? { text: '', version: '0'.repeat(64), files: {}, tokens: 0 }
        : { file: 'memory', version: '', entries: [], used: 0, limit: 1, changed: [] };
    reply(socket, asked, { result });
  });
  await box.start('loopd');
  const client = await box.client();
  const session = (await box.newSession(client)).result?.['sessionId'] as string;
  const answered = box.prompt(client, session, 'remember tea');
  while (box.model.requests.length === 0) await sleep(2);
  seen.push(types());
  box.model.release();

  assert.equal((await answered).result?.['stopReason'], 'end_turn');
  assert.deepEqual(seen, [
    ['session', 'turn'],
    ['session', 'turn', 'assistant', 'decision', 'call'],
  ]);
  const records = box.records(session);
  const intent = records.find(({ type }) => type === 'call');
  assert.equal(intent?.type === 'call' && intent.key, key);
  assert.deepEqual(
    records.map(({ seq }) => seq),
    records.map((_, at) => at),
  );
  assert.equal(records.at(-1)?.type, 'end', 'the end is there when the turn is reported over');
});

test('what a crash leaves at the end of a log is mended and told; damage anywhere else is refused, and the file kept', async (t) => {
  const box = await Box.open(t);
  await box.start('memoryd');
  const first = await box.start('loopd');
  const client = await box.client();
  const made = async () => {
    const session = (await box.newSession(client)).result?.['sessionId'] as string;
    await box.prompt(client, session, 'hello');
    return session;
  };
  const edit = (session: string, change: (lines: string[]) => string[]) =>
    writeFileSync(box.path(session), change(readFileSync(box.path(session), 'utf8').split('\n')).join('\n'));
  const torn: ((session: string) => void)[] = [
    (session) => appendFileSync(box.path(session), '{"v":1,"seq":4,"at":"2026'),
    (session) => appendFileSync(box.path(session), Buffer.from([0x7b, 0x22, 0xe6, 0xbc])),
    (session) => writeFileSync(box.path(session), readFileSync(box.path(session)).subarray(0, -1)),
  ];
  const damaged: ((session: string) => void)[] = [
    (session) => edit(session, (lines) => lines.with(1, '{"broken')),
    (session) => edit(session, (lines) => lines.toSpliced(2, 1)),
    (session) => appendFileSync(box.path(session), 'garbage\n'),
    (session) => writeFileSync(box.path(session), ''),
  ];
  const sessions: string[] = [];
  for (const spoil of [...torn, ...damaged]) {
    const session = await made();
    sessions.push(session);
    spoil(session);
  }
  await first.kill();
  const bytes = sessions.map((session) => readFileSync(box.path(session)));
  const loopd = await box.start('loopd');
  const again = await box.client();

  for (const [at, session] of sessions.entries()) {
    const answer = await box.prompt(again, session, 'again');
    if (at < torn.length) {
      assert.equal(answer.result?.['stopReason'], 'end_turn');
      const records = box.records(session);
      assert.deepEqual(records.map(({ seq, type }) => `${seq} ${type}`).slice(3), [
        '3 end',
        '4 turn',
        '5 assistant',
        '6 end',
      ]);
      await loopd.line((line) => line['session'] === session && 'cut_bytes' in line);
    } else {
      assert.deepEqual(refusal(answer).slice(0, 4), [-32603, 'session-damaged', 'session-damaged', false]);
      assert.deepEqual(readFileSync(box.path(session)), bytes[at], 'kept as it is');
    }
  }
});

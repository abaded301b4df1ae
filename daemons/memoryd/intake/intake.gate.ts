/**
 * Goal: whatever is done to memoryd, what its logs and records hold can be found, once, and what was forgotten cannot.
 * Method: the real daemon in a home of its own, with real logs, killed, damaged and flooded. SOAK=1: ten times as much.
 */
import assert from 'node:assert/strict';
import {
  appendFileSync,
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { test, type TestContext } from 'node:test';
import { Client } from '../../../shared/client.ts';
import { homeOf } from '../../../shared/home.ts';
import { memorydProtocol, type MemorydProtocol } from '../../../shared/protocol/memoryd.ts';
import { startDaemon, temporaryHome, type RunningDaemon } from '../../../shared/testing/start-daemon.ts';

const times = process.env['SOAK'] === '1' ? 10 : 1;
const mebibyte = 1024 * 1024;

class Device {
  readonly home: string;
  readonly sessions: string;
  readonly index: string;
  readonly #seq = new Map<string, number>();
  #daemon: RunningDaemon | undefined;
  #client: Client<MemorydProtocol> | undefined;

  constructor(t: TestContext) {
    const { home, remove } = temporaryHome();
    const parts = homeOf({ home });
    this.home = home;
    this.sessions = parts.sessions;
    this.index = join(parts.store, 'index');
    mkdirSync(this.sessions, { recursive: true });
    t.after(async () => {
      await this.kill();
      remove();
    });
  }

  get client(): Client<MemorydProtocol> {
    assert.ok(this.#client);
    return this.#client;
  }

  get daemon(): RunningDaemon {
    assert.ok(this.#daemon);
    return this.#daemon;
  }

  async start(): Promise<void> {
    this.#daemon = await startDaemon('memoryd', this.home);
    const { ops } = homeOf({ home: this.home }).memorySockets;
    this.#client = new Client(ops, memorydProtocol, { unavailable: 'memory-unavailable', connectMs: 5000 });
  }

  async stop(): Promise<number | null> {
    this.#client?.close();
    return (await this.#daemon?.stop()) ?? null;
  }

  async kill(): Promise<void> {
    this.#client?.close();
    await this.#daemon?.kill();
  }

  path(session: string): string {
    return join(this.sessions, `${session}.jsonl`);
  }

  say(session: string, ...texts: string[]): void {
    const lines = texts.map((text) => this.line(session, text));
    appendFileSync(this.path(session), lines.join(''));
  }

  /** The next turn of a session, its header before the first one. */
  line(session: string, text: string): string {
    const at = '2026-11-30T10:00:00.000Z';
    const seq = this.#seq.get(session) ?? 0;
    this.#seq.set(session, Math.max(seq, 1) + 1);
    const turn = { v: 1, seq: Math.max(seq, 1), at, type: 'turn', turn: seq, text };
    if (seq > 0) return `${JSON.stringify(turn)}\n`;
    const baseline = { system: '', tools: [], version: '', tokens: 0 };
    const header = { v: 1, seq: 0, at, type: 'session', id: session, origin: 'person', model: '', baseline };
    return `${JSON.stringify(header)}\n${JSON.stringify(turn)}\n`;
  }

  async updated(session: string) {
    return await this.client.call('updated', { session });
  }

  async recall(query: string, limit = 100) {
    return await this.client.call('recall', { query, limit, window: 0, max_chars: 200_000 });
  }

  /** The texts of hits in which the word stands: recall also gives what belongs to it, or looks like it. */
  async found(word: string): Promise<string[]> {
    const { hits } = await this.recall(word);
    return hits
      .map(({ text }) => text)
      .filter((text) => text.includes(word))
      .toSorted();
  }

  async caughtUp(): Promise<void> {
    for (;;) {
      const { index } = await this.recall('anything', 1);
      if (index.state === 'ok' && index.behind === 0) return;
      await sleep(20);
    }
  }

  async rssBytes(): Promise<number> {
    return Number((await this.client.call('status', {}))['memory_rss_bytes']);
  }

  /** Files below the store in which the bytes of a word stand. */
  filesWith(word: string): string[] {
    const store = join(this.home, 'store');
    return readdirSync(store, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => readFileSync(path).includes(word));
  }
}

test('killed again and again while it catches up, it goes on where it was, and has everything once', async (t) => {
  const device = new Device(t);
  const sessions = 40 * times;
  const turns = 100;
  for (let at = 0; at < sessions; at += 1)
    device.say(`s${at}`, ...Array.from({ length: turns }, (_, turn) => `kettle${at} boiled ${turn} times`));
  for (let round = 0; round < 6; round += 1) {
    await device.start();
    await sleep(40 + 60 * round);
    await device.kill();
  }
  await device.start();
  await device.caughtUp();

  for (const at of [0, 1, Math.floor(sessions / 2), sessions - 1])
    assert.equal((await device.found(`kettle${at}`)).length, turns, `session ${at}`);
  const { index } = await device.client.call('status', {});
  assert.equal(index['turns'], sessions * turns);
  assert.deepEqual((await device.client.call('verify', {})).index, { equal: true, differences: [] });
});

test('thousands of logs are all worked through, and a stop meanwhile takes seconds at most', async (t) => {
  const device = new Device(t);
  const sessions = 2000 * times;
  for (let at = 0; at < sessions; at += 1) device.say(`s${at}`, `log number${at}. says hello`);
  await device.start();
  const during = await device.recall('hello', 1);
  assert.equal(await device.stop(), 0);
  await device.start();
  await device.caughtUp();

  assert.ok(during.index.state === 'catching-up' || during.index.behind === 0);
  for (const at of [0, 999, sessions - 1]) assert.equal((await device.found(`number${at}.`)).length, 1);
  assert.equal((await device.client.call('status', {})).sessions.logs, sessions);
});

test('a log of any size is read with memory that stays as it was, and a line of 20 MB is found', async (t) => {
  const device = new Device(t);
  await device.start();
  device.say('warm', 'up');
  await device.updated('warm');
  const before = await device.rssBytes();
  const file = openSync(device.path('huge'), 'w');
  const filler = 'the quick brown fox jumps over the lazy dog and says nothing new at all today. '.repeat(40);
  const bytes = 60 * mebibyte * times;
  for (let at = 0, written = 0; written < bytes; at += 1)
    written += writeSync(
      file,
      device.line('huge', `${at % 5000 === 0 ? `kettle${at / 5000} ` : ''}${filler}`),
    );
  writeSync(file, device.line('huge', `${'x '.repeat(5 * mebibyte)} spoon ${' y'.repeat(5 * mebibyte)}`));
  closeSync(file);

  let most = 0;
  for (;;) {
    const reply = await device.updated('huge');
    most = Math.max(most, await device.rssBytes());
    if (reply.behind === 0) break;
  }
  const [spoon] = (await device.recall('spoon', 1)).hits;
  const kettle = await device.recall('kettle0', 1);

  assert.ok(statSync(device.path('huge')).size > bytes + 20 * mebibyte);
  assert.ok(spoon?.text.includes('spoon') && spoon.cut === true && spoon.text.length <= 200_000);
  assert.equal(kettle.hits.length, 1);
  assert.ok(most - before < 400 * mebibyte, `${Math.round((most - before) / mebibyte)} MiB more`);
});

test('eight updates at once of a session of 25 MB are all answered', async (t) => {
  const device = new Device(t);
  await device.start();
  const text = 'kettle and pot and pan. '.repeat(400);
  for (let at = 0; at < 2600; at += 100)
    device.say('big', ...Array.from({ length: 100 }, (_, more) => `${text} ${at + more}`));
  const replies = await Promise.all(Array.from({ length: 8 }, () => device.updated('big')));

  assert.ok(replies.every(({ indexed, behind }) => indexed + behind >= 2601));
  await device.caughtUp();
  assert.equal((await device.updated('big')).indexed, 2601);
});

test('a forgotten word is in no file of index or store, nor found by any rebuild', async (t) => {
  const device = new Device(t);
  await device.start();
  const word = 'Xylophonist';
  for (let at = 0; at < 30; at += 1)
    device.say(`s${at}`, ...Array.from({ length: 150 }, (_, n) => `turn ${n} of ${at}`));
  device.say('s7', `the ${word} lives next door`);
  device.say('gone', `another ${word}`);
  for (const session of ['gone', ...Array.from({ length: 30 }, (_, at) => `s${at}`)])
    await device.updated(session);
  const episode = { run_id: 'r', iteration: 0, node_id: 'n', role: 'b', provider_id: 'p', prompt_digest: '' };
  await device.client.call('record/put', {
    kind: 'episode',
    record: { ...episode, output: `built by the ${word}`, created_ms: 1 },
  });
  await device.client.call('record/put', {
    kind: 'episode',
    record: { ...episode, output: 'kept', created_ms: 2 },
  });
  await device.caughtUp();
  assert.equal((await device.found(word)).length, 3);

  const reply = await device.client.call('forget', { text: word });
  await device.client.call('forget', { session: 'gone' });
  await device.stop();
  const folded = device.filesWith(word.toLowerCase().slice(0, 9));
  const stored = device.filesWith(word);
  await device.start();
  await device.client.call('reindex', {});

  assert.deepEqual([reply.sessions.toSorted(), reply.records, reply.index], [['gone', 's7'], 1, 3]);
  assert.deepEqual([folded, stored], [[], []]);
  assert.deepEqual(await device.found(word), []);
  assert.deepEqual(await device.found('kept'), ['kept']);
  assert.equal((await device.found('turn 7')).length > 0, true);
});

for (const [name, damage] of [
  ['cut in half', (path: string) => truncateSync(path, Math.floor(statSync(path).size / 2))],
  ['emptied', (path: string) => truncateSync(path, 0)],
  ['deleted', (path: string) => unlinkSync(path)],
  ['filled with noise', (path: string) => writeFileSync(path, Buffer.alloc(statSync(path).size, 0xa5))],
] as const) {
  test(`an index of which every file is ${name} is rebuilt by itself, and says so until it is`, async (t) => {
    const device = new Device(t);
    for (let at = 0; at < 20; at += 1)
      device.say(`s${at}`, ...Array.from({ length: 300 }, (_, n) => `kettle${at} ${n}`));
    await device.start();
    await device.caughtUp();
    await device.stop();
    for (const file of readdirSync(device.index)) if (file !== 'LOCK') damage(join(device.index, file));
    await device.start();
    const states = new Set<string>();
    for (;;) {
      const { index } = await device.recall('kettle3', 1).catch((error: { code?: string }) => {
        assert.equal(error.code, 'memory-index-damaged');
        return { index: { state: 'damaged', behind: 1 } };
      });
      states.add(index.state);
      if (index.state === 'ok' && index.behind === 0) break;
    }

    assert.equal((await device.found('kettle3')).length, 100);
    assert.deepEqual((await device.client.call('verify', {})).index, { equal: true, differences: [] });
    assert.equal(await device.stop(), 0);
  });
}

test('an index that is deleted while memoryd is down comes back', async (t) => {
  const device = new Device(t);
  device.say('s', 'red kettle');
  await device.start();
  await device.caughtUp();
  await device.stop();
  rmSync(device.index, { recursive: true });
  await device.start();
  await device.caughtUp();

  assert.deepEqual(await device.found('kettle'), ['red kettle']);
});

test('a rebuild answers throughout, while sessions grow, and ends equal to another rebuild', async (t) => {
  const device = new Device(t);
  for (let at = 0; at < 30; at += 1)
    device.say(`s${at}`, ...Array.from({ length: 200 }, (_, n) => `kettle${at} ${n}`));
  await device.start();
  await device.caughtUp();
  const progress = { isDone: false };
  const reindex = device.client
    .call('reindex', {}, { timeoutMs: 300_000 })
    .finally(() => (progress.isDone = true));
  let said = 0;
  while (!progress.isDone) {
    device.say('late', `spoon number ${said}`);
    said += 1;
    await device.updated('late');
    assert.equal((await device.recall('kettle5', 1)).hits.length, 1);
    assert.equal((await device.recall(`spoon number ${said - 1}`, 1)).hits.length, 1);
  }
  await reindex;

  assert.ok(said > 0);
  assert.equal((await device.recall('spoon number', 100)).hits.length, Math.min(100, said));
  assert.deepEqual((await device.client.call('verify', {})).index, { equal: true, differences: [] });
});

test('a record that was put is found by the next question, and a summary by its new text alone', async (t) => {
  const device = new Device(t);
  await device.start();
  await device.caughtUp();
  const summary = { run_id: 'r', iteration: 1, facts: ['a fact'], created_ms: 1 };
  for (const headline of ['red kettle', 'blue kettle', 'green kettle']) {
    await device.client.call('record/put', { kind: 'summary', record: { ...summary, headline } });
    assert.deepEqual(await device.found('kettle'), [`${headline}\na fact`]);
  }
});

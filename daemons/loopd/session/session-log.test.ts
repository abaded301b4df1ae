/** The log of a session against what crashes, full disks and power cuts leave behind, on real files. */
import assert from 'node:assert/strict';
import { appendFile, mkdtemp, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import type { SessionBody, SessionRecord } from '../../../shared/protocol/sessions.ts';
import { collected, scriptedBaseline } from '../testing/scripted-turn.ts';
import { SessionLog } from './session-log.ts';

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'session-log-'));
  path = join(folder, 's1.jsonl');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const first: SessionBody = {
  type: 'session',
  id: 's1',
  origin: 'person',
  model: 'test',
  baseline: scriptedBaseline,
};
const turn = (text: string, number = 1): SessionBody => ({ type: 'turn', turn: number, text });
const sync = { sync: true };

async function created(): Promise<SessionLog> {
  return SessionLog.create(path, [{ body: first }]);
}

async function withTurns(...texts: string[]): Promise<void> {
  const log = await created();
  for (const text of texts) await log.append(turn(text), { sync: false });
  await log.close();
}

async function reopened() {
  const records: SessionRecord[] = [];
  const log = await SessionLog.open(path, { onRecord: (record) => records.push(record) });
  return { log, records, mended: log.mended };
}

const texts = (records: SessionRecord[]) =>
  records.flatMap((record) => (record.type === 'turn' ? [record.text] : []));

test('records come back as they were written, numbered without gaps, one to a line', async () => {
  const log = await SessionLog.create(path, [{ body: first }], {
    nowMs: () => Date.UTC(2026, 0, 2, 3, 4, 5, 6),
  });
  await log.append(turn('a'), sync);
  await log.append(turn('b\nc'), { sync: false });
  await log.close();

  const lines = (await readFile(path, 'utf8')).split('\n');
  assert.equal(lines.pop(), '');
  assert.deepEqual(JSON.parse(lines[1]!), {
    v: 1,
    seq: 1,
    at: '2026-01-02T03:04:05.006Z',
    type: 'turn',
    turn: 1,
    text: 'a',
  });
  const { log: again, records, mended } = await reopened();
  assert.deepEqual(
    records.map(({ seq }) => seq),
    [0, 1, 2],
  );
  assert.equal(mended, undefined);
  assert.deepEqual(await collected(again.records()), records);
  await again.close();
});

test('a log is readable by its owner alone, or by the group where that is wanted, whatever the umask', async () => {
  const umask = process.umask(0o000);
  try {
    await (await created()).close();
    assert.equal((await stat(path)).mode & 0o777, 0o600);
    process.umask(0o077);
    await (await SessionLog.create(path, [{ body: first }], { mode: 0o640 })).close();
    assert.equal((await stat(path)).mode & 0o777, 0o640);
  } finally {
    process.umask(umask);
  }
});

test('a last line that was cut is dropped and reported, and the next record is not joined to it', async () => {
  await withTurns('a', 'b');
  await appendFile(path, '{"v":1,"seq":3,"type":"us');

  const { log, records, mended } = await reopened();
  await log.append(turn('c'), sync);
  await log.close();

  assert.deepEqual(texts(records), ['a', 'b']);
  assert.deepEqual(mended, { cutBytes: 25, isNewlineAdded: false });
  const again = await reopened();
  assert.deepEqual(texts(again.records), ['a', 'b', 'c']);
  await again.log.close();
});

test('a cut inside a character is dropped; a whole last record without its newline is kept', async () => {
  await withTurns('a');
  const whole = await readFile(path);
  await appendFile(path, Buffer.concat([Buffer.from('{"v":1,"seq":2,"text":"'), Buffer.from([0xe6, 0xbc])]));
  const cut = await reopened();
  await cut.log.close();
  assert.deepEqual(texts(cut.records), ['a']);
  assert.deepEqual(await readFile(path), whole);

  await truncate(path, whole.length - 1);
  const kept = await reopened();
  assert.deepEqual(texts(kept.records), ['a']);
  assert.deepEqual(kept.mended, { cutBytes: 0, isNewlineAdded: true });
  await kept.log.append(turn('b'), sync);
  await kept.log.close();
  const again = await reopened();
  assert.deepEqual(texts(again.records), ['a', 'b']);
  await again.log.close();
});

test('zeros that a power cut left at the end are dropped, with or without a newline behind them', async () => {
  for (const tail of ['\0'.repeat(5000), `{"v":1,"seq":2${'\0'.repeat(100)}}\n`]) {
    await withTurns('a');
    await appendFile(path, tail);
    const { log, records, mended } = await reopened();
    await log.close();
    assert.deepEqual(texts(records), ['a']);
    assert.equal(mended?.cutBytes, tail.length);
  }
});

test('a log that was cut at any byte opens with its whole records, or is damaged before the first', async () => {
  await withTurns('aä😀', 'b');
  const whole = await readFile(path);
  const firstLine = whole.indexOf('\n') + 1;

  for (let size = firstLine - 3; size < whole.length; size += 1) {
    await writeFile(path, whole.subarray(0, size));
    if (size < firstLine - 1) {
      await assert.rejects(reopened(), { code: 'session-damaged' });
      continue;
    }
    const { log, records } = await reopened();
    await log.append(turn('next'), { sync: false });
    await log.close();
    const again = await reopened();
    await again.log.close();
    assert.deepEqual(again.records.slice(0, -1), records);
    assert.equal(texts(again.records).at(-1), 'next');
  }
});

test('damage in the middle is named with its place, and the file is left as it is', async () => {
  const damages: [string, (lines: string[]) => void][] = [
    ['not JSON', (lines) => (lines[1] = lines[1]!.slice(0, -5))],
    ['not JSON', (lines) => (lines[1] = '')],
    ['seq is 2 where 1 belongs', (lines) => lines.splice(1, 1)],
    ['seq is 1 where 2 belongs', (lines) => lines.splice(1, 0, lines[1]!)],
    ['not a record', (lines) => (lines[1] = '{"seq":1}')],
    ['not of type session', (lines) => (lines[0] = lines[0]!.replace('"session"', '"turn"'))],
  ];
  for (const [wrong, damage] of damages) {
    await withTurns('a', 'b', 'c');
    const lines = (await readFile(path, 'utf8')).split('\n');
    damage(lines);
    const damaged = lines.join('\n');
    await writeFile(path, damaged);

    await assert.rejects(reopened(), (error: { code: string; message: string }) => {
      assert.equal(error.code, 'session-damaged');
      assert.match(error.message, new RegExp(wrong));
      return true;
    });
    assert.equal(await readFile(path, 'utf8'), damaged);
  }
});

test('an empty log is damaged, a missing one is unknown', async () => {
  await writeFile(path, '');
  await assert.rejects(reopened(), { code: 'session-damaged' });
  await rm(path);
  await assert.rejects(reopened(), { code: 'session-unknown' });
});

test('U+2028, U+2029, U+0085 and CR inside a text are no line ends', async () => {
  const text = 'a\u2028b\u2029c\u0085d\re';
  await withTurns(text);

  const { log, records } = await reopened();
  await log.close();

  assert.deepEqual(texts(records), [text]);
});

test('a lone surrogate is repaired when it is written, pairs and member names like __proto__ stay', async () => {
  const log = await created();
  const args = JSON.parse('{"__proto__":{"x":"\\ud83d"},"\\udc00":1}') as Record<string, unknown>;
  const body: SessionBody = {
    type: 'assistant',
    turn: 1,
    step: 0,
    text: 'x\ud83dy 😀 \\ud83d',
    calls: [{ id: 'c1.0.0', name: 'look', arguments: args }],
    finish: 'stop',
  };

  const record = await log.append(body, sync);
  await log.close();

  assert.equal(record.type === 'assistant' && record.text, 'x\ufffdy 😀 \\ud83d');
  const { log: again, records } = await reopened();
  await again.close();
  assert.deepEqual(records[1], record);
  assert.match(JSON.stringify(record), /"arguments":{"__proto__":{"x":"\ufffd"},"\ufffd":1}/);
});

/** Goal: a log is read whole line by whole line, and known again. Method: real files in a temporary folder. */
import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { isUntouched, SessionLog } from './session-log.ts';

const lineBytesMax = 1024 * 1024;

function logPath(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'loopkeep-log-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 's.jsonl');
}

function open(t: TestContext, path: string, bytesMax = lineBytesMax): SessionLog {
  const log = SessionLog.open(path, bytesMax);
  assert.ok(log);
  t.after(() => log.close());
  return log;
}

async function read(log: SessionLog, from = 0) {
  const lines: { offset: number; text: string }[] = [];
  let end = from;
  let oversized = 0;
  for await (const batch of log.lines(from)) {
    for (const { offset, bytes } of batch.lines) lines.push({ offset, text: bytes.toString() });
    end = batch.end;
    oversized += batch.oversized;
  }
  return { lines, end, oversized };
}

test('a half-written last line is left until it is complete, and then read once', async (t) => {
  const path = logPath(t);
  writeFileSync(path, '{"a":1}\n{"b"');

  const first = await read(open(t, path));
  appendFileSync(path, ':2}\n');
  const second = await read(open(t, path), first.end);

  assert.deepEqual(
    first.lines.map(({ text }) => text),
    ['{"a":1}'],
  );
  assert.deepEqual(second.lines, [{ offset: 8, text: '{"b":2}' }]);
  assert.equal(second.end, 16);
});

test('a line ends at 0x0A alone: U+2028, U+2029 and U+0085 are text', async (t) => {
  const path = logPath(t);
  const text = `{"a":"x\u2028y\u2029z\u0085\\r"}`;
  writeFileSync(path, `${text}\n`);

  const { lines } = await read(open(t, path));

  assert.deepEqual(
    lines.map((line) => line.text),
    [text],
  );
});

test('lines of every length around the size of a chunk come whole, with their offsets', async (t) => {
  const path = logPath(t);
  const sizes = [1, 131_070, 131_071, 131_072, 131_073, 3, 500_000, 0, 7];
  writeFileSync(path, sizes.map((size) => 'x'.repeat(size) + '\n').join(''));

  const { lines, end } = await read(open(t, path));

  let offset = 0;
  const expected = sizes.map((size) => {
    const line = { offset, size };
    offset += size + 1;
    return line;
  });
  assert.deepEqual(
    lines.map((line) => ({ offset: line.offset, size: line.text.length })),
    expected.filter(({ size }) => size > 0),
  );
  assert.equal(end, offset);
});

test('a line over the limit is skipped and counted, and the lines around it are read', async (t) => {
  const path = logPath(t);
  writeFileSync(path, `before\n${'x'.repeat(300_000)}\nbehind\n`);

  const { lines, end, oversized } = await read(open(t, path, 200_000));

  assert.deepEqual(
    lines.map(({ text }) => text),
    ['before', 'behind'],
  );
  assert.equal(oversized, 1);
  assert.equal(end, 300_015);
});

test('a log that does not exist is undefined, not an error', async (t) => {
  assert.equal(SessionLog.open(logPath(t), lineBytesMax), undefined);
});

test('the lines behind an offset are counted without being read', async (t) => {
  const path = logPath(t);
  writeFileSync(path, 'a\nb\nc\nhalf');
  const log = open(t, path);

  assert.equal(await log.countLines(0), 3);
  assert.equal(await log.countLines(2), 2);
  assert.equal(await log.countLines(6), 0);
});

test('a log that only grew continues, also under another inode', async (t) => {
  const path = logPath(t);
  writeFileSync(path, 'first\nsecond\n');
  const mark = open(t, path).markAt(13);

  writeFileSync(`${path}.new`, 'first\nsecond\nthird\n');
  renameSync(`${path}.new`, path);

  assert.equal(open(t, path).continues(mark), true);
});

test('a log that was cut and grew past the offset again is another one', async (t) => {
  const path = logPath(t);
  writeFileSync(path, `${'first\n'.repeat(300)}second\n`);
  const mark = open(t, path).markAt(1807);

  truncateSync(path, 1500);
  appendFileSync(path, 'else\n'.repeat(200));

  assert.equal(open(t, path).continues(mark), false);
});

test('a log with another beginning is another one, however it goes on', async (t) => {
  const path = logPath(t);
  writeFileSync(path, `a\n${'same\n'.repeat(600)}`);
  const mark = open(t, path).markAt(3002);

  writeFileSync(path, `b\n${'same\n'.repeat(600)}`);
  const log = open(t, path);

  assert.equal(log.continues(mark), false);
});

test('a file that nobody wrote to need not be opened again', async (t) => {
  const path = logPath(t);
  writeFileSync(path, 'a\n');
  const mark = open(t, path).markAt(2);
  const { statSync } = await import('node:fs');

  assert.equal(isUntouched(mark, statSync(path)), true);
  appendFileSync(path, 'b\n');
  assert.equal(isUntouched(mark, statSync(path)), false);
});

/** The mark is what was last said, whichever of its two slots a crash tore. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { HighWater, readMark } from './high-water.ts';

const root = mkdtempSync(join(tmpdir(), 'high-water-'));
after(() => rmSync(root, { recursive: true, force: true }));
let files = 0;
const freshPath = () => join(root, `mark-${(files += 1)}`);

test('there is no mark where there is no file, or one that says nothing', () => {
  const path = freshPath();
  assert.equal(readMark(path), undefined);
  for (const text of ['', 'mark', '\0'.repeat(1024), 'x'.repeat(1024)]) {
    writeFileSync(path, text);
    assert.equal(readMark(path), undefined);
  }
});

test('the last mark counts, also while the file is open', async () => {
  const path = freshPath();
  const highWater = await HighWater.open(path, { seq: 3, operations: 5 });
  assert.deepEqual(readMark(path), { seq: 3, operations: 5 });
  for (let i = 4; i < 20; i += 1) {
    highWater.advance({ seq: i, operations: i * 2 });
    assert.deepEqual(readMark(path), { seq: i, operations: i * 2 });
  }
  highWater.close();
  assert.deepEqual(readMark(path), { seq: 19, operations: 38 });
});

test('a torn slot gives the mark before, and never another one', async () => {
  const path = freshPath();
  const highWater = await HighWater.open(path, { seq: 1, operations: 10 });
  highWater.advance({ seq: 2, operations: 20 });
  highWater.close();
  const whole = readFileSync(path);
  const line = whole.indexOf('\n') + 1;
  const bytes = Array.from({ length: line }, (_, at) => [at, at + whole.length / 2]).flat();
  for (const at of bytes) {
    const torn = Buffer.from(whole);
    torn[at]! ^= 4;
    writeFileSync(path, torn);
    const mark = readMark(path);
    assert.ok(mark?.seq === 1 || mark?.seq === 2, `byte ${at}`);
    assert.equal(mark.operations, mark.seq * 10);
  }
});

test('opening starts from what it is told, even below what the file said', async () => {
  const path = freshPath();
  (await HighWater.open(path, { seq: 100, operations: 100 })).close();
  (await HighWater.open(path, { seq: 7, operations: 9 })).close();
  assert.deepEqual(readMark(path), { seq: 7, operations: 9 });
});

test('the file has its full size from the start, so that a full disk cannot stop it', async () => {
  const path = freshPath();
  const highWater = await HighWater.open(path, { seq: 0, operations: 0 });
  const { size } = statSync(path);
  highWater.advance({ seq: Number.MAX_SAFE_INTEGER, operations: Number.MAX_SAFE_INTEGER });
  assert.equal(statSync(path).size, size);
  highWater.close();
  assert.equal(readMark(path)?.seq, Number.MAX_SAFE_INTEGER);
});

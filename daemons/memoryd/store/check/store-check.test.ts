/** Damage of every kind is found by reading alone; what a crash leaves is told from it. */
import assert from 'node:assert/strict';
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { SeededRandom } from '../seeded-random.ts';
import { copyLevel, makeSampleLevel, sampleKeys } from './sample-level.ts';
import { checkStore, verdictOf } from './store-check.ts';
import { checkTables } from './tables-check.ts';

const root = mkdtempSync(join(tmpdir(), 'store-check-'));
const sample = join(root, 'sample');
const random = new SeededRandom();
const flips = 250;
let copies = 0;

before(() => makeSampleLevel(sample));
after(() => rmSync(root, { recursive: true, force: true }));

function freshCopy(): string {
  copies += 1;
  const dir = join(root, `copy-${copies}`);
  copyLevel(sample, dir);
  return dir;
}

const pathOf = (dir: string, pattern: RegExp) =>
  join(
    dir,
    readdirSync(dir).find((name) => pattern.test(name))!,
  );

/** What a start would say that knows from the high-water mark of all that was written. */
async function verdict(dir: string, { wasCleanStop = false } = {}): Promise<string[]> {
  return verdictOf(await checkStore(dir), { promisedThrough: sampleKeys, wasCleanStop });
}

test('a store that nothing happened to is whole, to the last operation', async () => {
  const report = await checkStore(sample);
  assert.deepEqual(report.damage, []);
  assert.deepEqual(report.defects, []);
  assert.equal(report.intactThrough, sampleKeys);
  assert.ok(report.tables.length > 0);
  assert.deepEqual(await verdict(sample, { wasCleanStop: true }), []);
  assert.deepEqual(await checkTables({ tables: report.tables, isOpen: false }), []);
});

test('a check changes nothing, not even a time', async () => {
  const dir = freshCopy();
  const state = () =>
    readdirSync(dir).map((name) => [name, statSync(join(dir, name)).mtimeMs, readFileSync(join(dir, name))]);
  const before = state();
  await checkTables({ tables: (await checkStore(dir)).tables, isOpen: false });
  assert.deepEqual(state(), before);
});

test('a flipped bit in CURRENT, MANIFEST or a log is reported, wherever it is', async () => {
  const dir = freshCopy();
  for (const pattern of [/^CURRENT$/, /^MANIFEST/, /\.log$/]) {
    const path = pathOf(dir, pattern);
    const original = readFileSync(path);
    for (let i = 0; i < flips; i += 1) {
      const bit = random.below(original.length * 8);
      const bytes = Buffer.from(original);
      bytes[bit >> 3]! ^= 1 << (bit & 7);
      writeFileSync(path, bytes);
      const found = await verdict(dir, { wasCleanStop: true });
      assert.notDeepEqual(found, [], `${path}, bit ${bit}`);
    }
    writeFileSync(path, original);
  }
});

test('a flipped bit in a log is reported after a crash too, the last record included', async () => {
  const dir = freshCopy();
  const path = pathOf(dir, /\.log$/);
  const original = readFileSync(path);
  const bits = Array.from({ length: flips }, () => random.below(original.length * 8));
  for (const bit of [...bits, original.length * 8 - 1]) {
    const bytes = Buffer.from(original);
    bytes[bit >> 3]! ^= 1 << (bit & 7);
    writeFileSync(path, bytes);
    assert.notDeepEqual(await verdict(dir), [], `bit ${bit}`);
  }
});

test('a flipped bit in a table is found by the check of the tables', async () => {
  const dir = freshCopy();
  const { tables } = await checkStore(dir);
  for (let i = 0; i < flips; i += 1) {
    const { path, size } = tables[random.below(tables.length)]!;
    const original = readFileSync(path);
    // The padding of the footer is all that nobody reads.
    const bit = random.below((size - 48) * 8);
    const bytes = Buffer.from(original);
    bytes[bit >> 3]! ^= 1 << (bit & 7);
    writeFileSync(path, bytes);
    assert.notDeepEqual(await checkTables({ tables, isOpen: false }), [], `${path}, bit ${bit}`);
    writeFileSync(path, original);
  }
});

test('whatever is missing, empty or cut is reported', async () => {
  const damages: Record<string, (dir: string) => void> = {
    'CURRENT missing': (dir) => rmSync(join(dir, 'CURRENT')),
    'CURRENT empty': (dir) => truncateSync(join(dir, 'CURRENT')),
    'CURRENT with two lines': (dir) => appendFileSync(join(dir, 'CURRENT'), 'MANIFEST-000001\n'),
    'MANIFEST missing': (dir) => rmSync(pathOf(dir, /^MANIFEST/)),
    'MANIFEST empty': (dir) => truncateSync(pathOf(dir, /^MANIFEST/)),
    'MANIFEST without its last edit': (dir) => truncateSync(pathOf(dir, /^MANIFEST/), 60),
    'a log missing': (dir) => rmSync(pathOf(dir, /\.log$/)),
    'a log empty': (dir) => truncateSync(pathOf(dir, /\.log$/)),
    'a log cut': (dir) => truncateSync(pathOf(dir, /\.log$/), 5_000),
    'a table missing': (dir) => rmSync(pathOf(dir, /\.ldb$/)),
    'a table cut': (dir) => truncateSync(pathOf(dir, /\.ldb$/), 1_000),
    'everything missing': (dir) => rmSync(dir, { recursive: true }),
  };
  for (const [name, damage] of Object.entries(damages)) {
    const dir = freshCopy();
    damage(dir);
    assert.notDeepEqual(await verdict(dir), [], name);
  }
});

test('a torn tail behind all that was promised is reported and no damage', async () => {
  const dir = freshCopy();
  const path = pathOf(dir, /\.log$/);
  truncateSync(path, statSync(path).size - 10);
  const report = await checkStore(dir);
  const promised = { promisedThrough: sampleKeys - 1, wasCleanStop: false };
  assert.equal(report.defects.length, 1);
  assert.ok(report.defects[0]!.bytes > 0);
  assert.deepEqual(verdictOf(report, promised), []);
  assert.deepEqual(verdictOf(report, { ...promised, promisedThrough: undefined }), []);
  assert.notDeepEqual(verdictOf(report, { ...promised, promisedThrough: sampleKeys }), []);
  assert.notDeepEqual(verdictOf(report, { ...promised, wasCleanStop: true }), []);
});

test('a hole behind all that was promised is no damage, but without a high-water mark it is', async () => {
  const dir = freshCopy();
  const path = pathOf(dir, /\.log$/);
  const bytes = readFileSync(path);
  bytes.fill(0, bytes.length >> 1, (bytes.length >> 1) + 512);
  writeFileSync(path, bytes);
  const report = await checkStore(dir);
  assert.equal(report.defects[0]?.kind, 'middle');
  const { intactThrough } = report;
  assert.ok(intactThrough < sampleKeys);
  assert.deepEqual(verdictOf(report, { promisedThrough: intactThrough, wasCleanStop: false }), []);
  assert.notDeepEqual(verdictOf(report, { promisedThrough: intactThrough + 1, wasCleanStop: false }), []);
  assert.notDeepEqual(verdictOf(report, { promisedThrough: undefined, wasCleanStop: false }), []);
});

test('a table that compaction removed meanwhile is no damage in an open store', async () => {
  const dir = freshCopy();
  const { tables } = await checkStore(dir);
  rmSync(tables[0]!.path);
  let checked = 0;
  const counting = { onChecked: () => (checked += 1) };
  assert.deepEqual(await checkTables({ tables, isOpen: true, ...counting }), []);
  assert.equal(checked, tables.length);
  assert.notDeepEqual(await checkTables({ tables, isOpen: false }), []);
});

test('a directory without any store in it is empty, not damaged', async () => {
  const dir = mkdtempSync(join(root, 'empty-'));
  const report = await checkStore(dir);
  assert.equal(report.isEmpty, true);
  assert.deepEqual(report.damage, []);
});

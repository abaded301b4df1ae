/** The readers of LevelDB's formats, against known vectors and against files that LevelDB wrote. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { SeededRandom } from '../seeded-random.ts';
import { ByteReader } from './byte-reader.ts';
import { crc32c, unmaskCrc } from './crc32c.ts';
import { readLog } from './log-format.ts';
import { replayManifest } from './manifest.ts';
import { makeSampleLevel } from './sample-level.ts';
import { unsnappy } from './snappy.ts';
import { checkTable } from './table.ts';

const dir = mkdtempSync(join(tmpdir(), 'formats-'));
const random = new SeededRandom();
const fileOf = (pattern: RegExp) =>
  readFileSync(
    join(
      dir,
      readdirSync(dir).find((name) => pattern.test(name))!,
    ),
  );
const flipped = (bytes: Buffer, bit: number) => {
  const copy = Buffer.from(bytes);
  copy[bit >> 3]! ^= 1 << (bit & 7);
  return copy;
};
const truncateSamples = 200;

before(() => makeSampleLevel(dir));
after(() => rmSync(dir, { recursive: true, force: true }));

test('CRC-32C gives the published check value, of a part as of a whole', () => {
  assert.equal(crc32c(Buffer.from('123456789')), 0xe3069283);
  assert.equal(crc32c(Buffer.from('xx123456789yy'), 2, 11), 0xe3069283);
  // 32 bytes of zeros, from RFC 3720, B.4.
  assert.equal(crc32c(Buffer.alloc(32)), 0x8a9136aa);
});

test('unmasking undoes the masking of LevelDB', () => {
  const mask = (crc: number) => ((((crc >>> 15) | (crc << 17)) >>> 0) + 0xa282ead8) >>> 0;
  for (const crc of [0, 1, 0xe3069283, 0xffffffff]) assert.equal(unmaskCrc(mask(crc)), crc);
});

test('numbers and strings are read to the end and never past it', () => {
  const reader = new ByteReader(Buffer.from([0x7f, 0xac, 0x02, 3, 97, 98, 99, 5, 97]));
  assert.equal(reader.varint(), 127);
  assert.equal(reader.varint(), 300);
  assert.equal(reader.prefixed().toString(), 'abc');
  assert.throws(() => reader.prefixed(), RangeError);
  assert.throws(() => new ByteReader(Buffer.from([0x80])).varint(), RangeError);
  assert.throws(() => new ByteReader(Buffer.alloc(11, 0x80)).varint(), RangeError);
});

test('Snappy gives back literals and copies, those that overlap included', () => {
  const literal = (text: string) => [(text.length - 1) << 2, ...Buffer.from(text)];
  const nineFromThreeBack = [((9 - 4) << 2) | 1, 3];
  const fourFromFourBack = [((4 - 1) << 2) | 2, 4, 0];
  const fourFromTwelveBack = [((4 - 1) << 2) | 3, 12, 0, 0, 0];
  const copies = [...fourFromFourBack, ...fourFromTwelveBack];
  const block = [24, ...literal('abc'), ...nineFromThreeBack, ...literal('wxyz'), ...copies];
  assert.equal(unsnappy(Buffer.from(block)).toString(), 'abcabcabcabcwxyzwxyzcabc');
});

test('Snappy refuses what points outside its block or has the wrong length', () => {
  for (const bad of [
    [4, 1, 1],
    [4, 0, 97, 1, 0],
    [1, 2 << 2, 97, 98, 99],
    [9, 0, 97],
    [4, 63 << 2, 255, 255, 255, 255],
  ]) {
    assert.throws(() => unsnappy(Buffer.from(bad)), RangeError);
  }
});

test('a log of LevelDB has one record for each write', () => {
  const { records, defect } = readLog(fileOf(/\.log$/));
  assert.equal(records.length, 300);
  assert.equal(defect, undefined);
});

test('a log that was cut off has a torn tail, and all records before it', () => {
  const log = fileOf(/\.log$/);
  for (let i = 0; i < truncateSamples; i += 1) {
    const length = random.below(log.length);
    const { records, defect } = readLog(log.subarray(0, length));
    const readable = records.reduce((sum, record) => sum + record.length, 0);
    if (defect === undefined) assert.ok(readable <= length);
    else assert.equal(defect.kind, 'tail', `cut at ${length}`);
    assert.ok(defect === undefined || defect.isCut);
  }
});

test('a log with one flipped bit is never whole', () => {
  const log = fileOf(/\.log$/);
  for (let i = 0; i < truncateSamples; i += 1) {
    const bit = random.below(log.length * 8);
    assert.notEqual(readLog(flipped(log, bit)).defect, undefined, `bit ${bit}`);
  }
});

test('a bad fragment in front of good ones is damage, one at the end a torn tail', () => {
  const log = fileOf(/\.log$/);
  assert.equal(readLog(flipped(log, 8 * 20)).defect?.kind, 'middle');
  assert.equal(readLog(flipped(log, 8 * (log.length - 1))).defect?.kind, 'tail');
  const zeroed = Buffer.from(log).fill(0, log.length - 100);
  assert.equal(readLog(zeroed).defect?.kind, 'tail');
  assert.equal(readLog(Buffer.concat([log, Buffer.alloc(500)])).defect?.reason, 'zeros');
});

test('MANIFEST names the tables and the log that are there', () => {
  const manifest = replayManifest(readLog(fileOf(/^MANIFEST/)).records);
  const names = readdirSync(dir);
  assert.ok(manifest.tables.size > 0);
  for (const number of manifest.tables.keys()) {
    assert.ok(names.includes(`${String(number).padStart(6, '0')}.ldb`));
  }
  assert.ok(names.includes(`${String(manifest.log).padStart(6, '0')}.log`));
  assert.equal(manifest.sequence, 600);
});

test('an edit that is none is refused', () => {
  assert.throws(() => replayManifest([Buffer.from([99])]), RangeError);
  assert.throws(() => replayManifest([Buffer.from([2])]), RangeError);
});

test('a table is whole as LevelDB wrote it, and not with one bit flipped', async () => {
  const table = fileOf(/\.ldb$/);
  assert.deepEqual(await checkTable(table, table.length), []);
  const unused: number[] = [];
  for (let i = 0; i < truncateSamples; i += 1) {
    const bit = random.below(table.length * 8);
    if ((await checkTable(flipped(table, bit), table.length)).length === 0) unused.push(bit >> 3);
  }
  // Nothing reads the padding of the footer, between the handles and the magic number.
  assert.ok(unused.every((byte) => byte >= table.length - 48 && byte < table.length - 8));
});

test('a table that is too short, or none at all, is reported and does not throw', async () => {
  const table = fileOf(/\.ldb$/);
  for (const bad of [
    Buffer.alloc(0),
    Buffer.alloc(48),
    table.subarray(0, table.length - 1),
    Buffer.alloc(table.length),
  ]) {
    assert.notDeepEqual(await checkTable(bad, table.length), []);
    assert.notDeepEqual(await checkTable(bad, bad.length), []);
  }
});

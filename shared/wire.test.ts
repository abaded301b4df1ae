/** Goal: bytes become exactly the lines that were sent, whatever the chunks; hostile lines are recognised cheaply. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isDeeperThan, LineSplitter, parseLine, type Line } from './wire.ts';

const bytesMax = 1000;

function split(chunks: readonly Buffer[], max = bytesMax): Line[] | 'too-large' {
  const splitter = new LineSplitter(max);
  const lines: Line[] = [];
  for (const chunk of chunks) {
    lines.push(...splitter.push(chunk));
    if (splitter.isOver) return 'too-large';
  }
  return [...lines, ...splitter.end()];
}

test('a line is the same text however its bytes are cut', () => {
  const line = fc
    .string({ unit: 'binary', maxLength: 30 })
    .map((text) => text.toWellFormed().replaceAll(/[\n\r]/gu, ' '));
  fc.assert(
    fc.property(fc.array(line, { maxLength: 8 }), fc.array(fc.nat(200), { maxLength: 12 }), (lines, cuts) => {
      const bytes = Buffer.from(lines.map((text) => `${text}\n`).join(''));
      const edges = [
        0,
        ...cuts.map((cut) => Math.min(cut, bytes.length)).toSorted((a, b) => a - b),
        bytes.length,
      ];
      const chunks = edges.slice(1).map((end, at) => bytes.subarray(edges[at], end));
      assert.deepEqual(
        split(chunks),
        lines.filter((text) => text !== ''),
      );
    }),
  );
});

test('one byte at a time, a character that spans bytes is whole', () => {
  const bytes = Buffer.from('{"q":"é漢😀"}\n');
  assert.deepEqual(split([...bytes].map((byte) => Buffer.from([byte]))), ['{"q":"é漢😀"}']);
});

test('U+2028, U+2029 and U+0085 do not end a line', () => {
  assert.deepEqual(split([Buffer.from('a\u2028b\u2029c\u0085d\n')]), ['a\u2028b\u2029c\u0085d']);
});

test('a carriage return before the line feed and empty lines are tolerated', () => {
  assert.deepEqual(split([Buffer.from('a\r\n\r\n\nb\n')]), ['a', 'b']);
});

test('bytes that are not UTF-8 spoil their own line and no other', () => {
  assert.deepEqual(
    split([Buffer.concat([Buffer.from('a\n'), Buffer.from([0xff, 0x0a]), Buffer.from('b\n')])]),
    ['a', undefined, 'b'],
  );
});

test('what stands after the last line feed is a line when the stream ends', () => {
  assert.deepEqual(split([Buffer.from('a\nb')]), ['a', 'b']);
});

test('a line over the limit is refused before it is whole', () => {
  assert.equal(split([Buffer.alloc(600, 97), Buffer.alloc(600, 97)]), 'too-large');
  assert.equal(split([Buffer.from(`${'a'.repeat(1200)}\n`)]), 'too-large');
  assert.deepEqual(split([Buffer.from(`${'a'.repeat(bytesMax)}\n`)]), ['a'.repeat(bytesMax)]);
});

test('depth counts brackets outside of strings', () => {
  assert.ok(isDeeperThan('['.repeat(65) + ']'.repeat(65), 64));
  assert.ok(!isDeeperThan('['.repeat(64) + ']'.repeat(64), 64));
  assert.ok(!isDeeperThan(JSON.stringify({ a: '['.repeat(500), b: '\\"[[['.repeat(50) }), 4));
});

test('a lone surrogate is repaired wherever it stands, and __proto__ stays data', () => {
  const value = parseLine('{"\\ud800":["a\\udc00"],"__proto__":{"x":"\\ud83d\\ude00"}}') as Record<
    string,
    unknown
  >;
  assert.deepEqual(Object.entries(value), [
    ['\ufffd', ['a\ufffd']],
    ['__proto__', { x: '😀' }],
  ]);
  assert.equal(({} as { x?: unknown }).x, undefined);
});

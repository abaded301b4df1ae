/** Goal: a line is a record or is told apart. Method: lines as a crash, another writer or a newer version leaves them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readLine } from './session-line.ts';

const turn = (seq: number, text: string) =>
  JSON.stringify({ v: 1, seq, at: '2026-11-30T10:00:00.000Z', type: 'turn', turn: 0, text });
const read = (line: string | Buffer) => readLine(Buffer.from(line as string));

test('a record is read as it was written', () => {
  const line = read(turn(3, 'a\u2028b'));

  assert.equal(line?.start, 0);
  assert.equal(line.record.seq, 3);
  assert.equal(line.record.type === 'turn' && line.record.text, 'a\u2028b');
});

test('a record of a later version reads, also one of an unknown type', () => {
  const line = read('{"v":9,"seq":0,"at":"2026-11-30T10:00:00Z","type":"weather","sky":{"blue":true}}');

  assert.equal(line?.record.seq, 0);
});

test('what is no record is undefined, never thrown', () => {
  const lines = [
    '',
    'null',
    '5',
    '[]',
    '"text"',
    '{}',
    '{"v":1,"seq":-1,"at":"2026-11-30T10:00:00Z","type":"turn","turn":0,"text":"x"}',
    '{"v":1,"seq":1.5,"at":"2026-11-30T10:00:00Z","type":"turn","turn":0,"text":"x"}',
    '{"v":1,"seq":1,"at":"yesterday","type":"turn","turn":0,"text":"x"}',
    '{"v":1,"seq":1,"at":"2026-11-30T10:00:00Z","type":"turn","turn":0}',
    '{"v":1,"seq":1,"at":"2026-11-30T10:00:00Z","type":"turn","turn":0,"text":{"a":1}}',
    turn(1, 'cut').slice(0, -3),
    '\0\0\0\0',
    '['.repeat(200_000),
  ];
  for (const line of lines) assert.equal(read(line), undefined, line.slice(0, 40));
});

test('a line cut inside a character is no record', () => {
  const whole = Buffer.from(turn(1, '漢字'));
  const cut = Buffer.concat([whole.subarray(0, whole.indexOf(0xe6) + 2), Buffer.from('"}')]);

  assert.equal(readLine(cut), undefined);
});

test('a whole record glued behind half a line is found, with where it starts', () => {
  const half = turn(1, 'half of it').slice(0, 40);
  const whole = turn(1, 'told of {"v":1} and \\{"v": too');

  const line = read(half + whole);

  assert.equal(line?.start, 40);
  assert.equal(line.record.type === 'turn' && line.record.text, 'told of {"v":1} and \\{"v": too');
});

test('a whole record behind a run of zeros, or half a character, is found', () => {
  const zeros = Buffer.alloc(4096);
  const whole = Buffer.from(turn(7, 'behind zeros'));

  assert.equal(readLine(Buffer.concat([zeros, whole]))?.start, 4096);
  assert.equal(readLine(Buffer.concat([Buffer.from([0xe6, 0xbc]), whole]))?.start, 2);
});

test('an object inside a record is never taken for a record of its own', () => {
  const inner = turn(5, 'inner');
  const outer = `{"v":1,"seq":2,"at":"2026-11-30T10:00:00Z","type":"assistant","turn":0,"step":0,"text":"","calls":[{"arguments":${inner}}]`;

  assert.equal(read(outer), undefined, 'cut before its last brace');
});

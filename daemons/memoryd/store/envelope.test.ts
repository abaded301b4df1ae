/** An envelope proves key, sequence and text, and nothing that was changed passes for them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seal, unseal } from './envelope.ts';
import { SeededRandom } from './seeded-random.ts';

const key = 'ep/run/00000000000000000007';

test('what was sealed comes back, number and text', () => {
  for (const json of ['{}', '{"a":"é 😀 \\u2028"}', 'null', '', 'x'.repeat(100_000)]) {
    for (const seq of [0, 7, Number.MAX_SAFE_INTEGER]) {
      assert.deepEqual(unseal(key, seal(key, { seq, json })), { seq, json });
    }
  }
});

test('the text lies in the value as it is', () => {
  assert.ok(seal(key, { seq: 7, json: '{"a":1}' }).endsWith(' {"a":1}'));
});

test('a value under another key proves nothing', () => {
  const value = seal(key, { seq: 7, json: '{}' });
  assert.equal(unseal('ep/run/00000000000000000008', value), undefined);
});

test('one changed bit anywhere proves nothing', () => {
  const bytes = Buffer.from(seal(key, { seq: 7, json: '{"node_id":"a","output":"done"}' }));
  for (let bit = 0; bit < bytes.length * 8; bit += 1) {
    const copy = Buffer.from(bytes);
    copy[bit >> 3]! ^= 1 << (bit & 7);
    assert.equal(unseal(key, copy.toString()), undefined, `bit ${bit}`);
  }
});

test('a cut, an empty and a random value prove nothing', () => {
  const random = new SeededRandom();
  const value = seal(key, { seq: 7, json: '{"a":1}' });
  for (let length = 0; length < value.length; length += 1) {
    assert.equal(unseal(key, value.slice(0, length)), undefined);
  }
  for (let i = 0; i < 500; i += 1) {
    assert.equal(unseal(key, random.bytes(random.below(80)).toString('latin1')), undefined);
  }
});

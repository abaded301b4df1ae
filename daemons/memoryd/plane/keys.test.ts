/** Goal: keys can be trusted to keep records apart, whatever text is in their parts. Method: properties over all of Unicode. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { kindNames, recordKinds, type KeyPart, type KindName } from '../../../shared/protocol/records.ts';
import { keyOf, rangeOf, readKey, type KeyParts, type KeyRange } from './keys.ts';

/** Strings of any code units, with those that mean something to a key more often than chance would have them. */
const part = fc
  .array(
    fc.oneof(
      fc.constantFrom('%', '/', '0', '\0', '\u001f', '%2F', '%2f', '%25', '\ud800', '\udc00', '😀', 'é', 'a'),
      fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
      fc.string({ unit: 'binary', minLength: 1, maxLength: 3 }),
    ),
    { minLength: 1, maxLength: 6 },
  )
  .map((pieces) => pieces.join(''));
const sequence = fc.oneof(fc.integer({ min: 0, max: 1000 }), fc.maxSafeNat());
const kind = fc.constantFrom(...kindNames);
const parts = fc.record({ run: part, target: part, key: part, iteration: sequence, seq: sequence });

function own(name: KindName, all: Required<KeyParts>): Partial<KeyParts> {
  const key: readonly KeyPart[] = recordKinds[name].key;
  return Object.fromEntries(key.map((part) => [part, all[part]]));
}

/** As the engine orders keys: by their bytes. */
function compare(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

function within(key: string, { gte, lt }: KeyRange): boolean {
  return compare(key, gte) >= 0 && compare(key, lt) < 0;
}

test('no two different records share a key, not even as bytes', () => {
  fc.assert(
    fc.property(kind, parts, kind, parts, (aKind, aParts, bKind, bParts) => {
      const [a, b] = [own(aKind, aParts), own(bKind, bParts)];
      const isSame = aKind === bKind && JSON.stringify(a) === JSON.stringify(b);
      assert.equal(compare(keyOf(aKind, a), keyOf(bKind, b)) === 0, isSame);
    }),
    { numRuns: 500 },
  );
});

test('two runs that differ in one character have different keys', () => {
  fc.assert(
    fc.property(part, part, part, part, (before, a, b, after) => {
      const key = (middle: string) => keyOf('checkpoint', { run: before + middle + after });
      assert.equal(compare(key(a), key(b)) === 0, a === b);
    }),
    { numRuns: 500 },
  );
});

test('lone surrogates, which bytes cannot tell apart, have keys of their own', () => {
  const runs = [
    '\ud800',
    '\udc00',
    '\ufffd',
    '%uD800',
    '\ud800\ufffd',
    '\ufffd\ud800',
    '\udc00\ud800',
    '\ud800\udc00',
  ];
  const keys = runs.map((run) => keyOf('checkpoint', { run }));
  assert.equal(new Set(keys.map((key) => Buffer.from(key).toString('hex'))).size, runs.length);
  assert.ok(keys.every((key) => key.isWellFormed()));
});

test('a range of a run holds its own records and those of no other run or kind', () => {
  fc.assert(
    fc.property(kind, part, kind, parts, fc.boolean(), (name, run, other, all, isPrefix) => {
      const theirs = { ...all, run: isPrefix ? `${run}${all.run}` : all.run };
      const range = rangeOf(name, run);
      assert.ok(within(keyOf(name, { ...all, run }), range), 'its own');
      if (recordKinds[name].key[0] !== 'run') return;
      const isTheirs = other === name && theirs.run === run;
      assert.equal(within(keyOf(other, own(other, theirs)), range), isTheirs);
    }),
    { numRuns: 500 },
  );
});

test('the ranges of two runs or kinds never overlap', () => {
  fc.assert(
    fc.property(kind, part, kind, part, (aKind, aRun, bKind, bRun) => {
      const [a, b] = [rangeOf(aKind, aRun), rangeOf(bKind, bRun)];
      const isApart = compare(a.lt, b.gte) <= 0 || compare(b.lt, a.gte) <= 0;
      assert.equal(isApart, JSON.stringify(a) !== JSON.stringify(b));
      assert.ok(compare(a.gte, a.lt) < 0, 'a range is never empty');
      const whole = rangeOf(aKind);
      assert.ok(compare(whole.gte, a.gte) <= 0 && compare(a.lt, whole.lt) <= 0, 'a kind holds its runs');
    }),
    { numRuns: 500 },
  );
});

test('keys of a run sort in the order the records were appended', () => {
  fc.assert(
    fc.property(
      fc.constantFrom<KindName>('episode', 'ledger', 'proposal', 'skill_trial'),
      part,
      sequence,
      sequence,
      (name, run, a, b) => {
        const order = compare(keyOf(name, { run, seq: a }), keyOf(name, { run, seq: b }));
        assert.equal(Math.sign(order), Math.sign(a - b));
      },
    ),
    { numRuns: 300 },
  );
});

test('summaries sort by the number of their iteration', () => {
  assert.ok(keyOf('summary', { run: 'r', iteration: 9 }) < keyOf('summary', { run: 'r', iteration: 10 }));
});

test('a key says what it was made of', () => {
  fc.assert(
    fc.property(kind, parts, (name, all) => {
      assert.deepEqual(readKey(keyOf(name, own(name, all))), { kind: name, ...own(name, all) });
    }),
    { numRuns: 500 },
  );
});

test('what is not a key of a record is none', () => {
  const seq = '0'.repeat(20);
  for (const key of [
    '',
    'ep',
    'ep/a',
    `ep/a/${seq}/b`,
    'ep/a/1',
    `zz/a/${seq}`,
    'ck/%2f',
    'ck/%41',
    'ck/%',
    'ck/a\0',
    `st/${'9'.repeat(20)}`,
  ]) {
    assert.equal(readKey(key), undefined, key);
  }
});

test('the form of keys is the documented one', () => {
  assert.equal(keyOf('episode', { run: 'a/b', seq: 7 }), 'ep/a%2Fb/00000000000000000007');
  assert.equal(keyOf('goal_state', { run: '100%', target: 'line\nbreak' }), 'gs/100%25/line%0Abreak');
  assert.equal(keyOf('checkpoint', { run: 'é \u007f😀' }), 'ck/é \u007f😀');
  assert.equal(keyOf('skill_trial', { seq: 12 }), 'st/00000000000000000012');
  assert.throws(() => keyOf('episode', { run: 'a' }), TypeError);
});

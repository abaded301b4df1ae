/** Goal: each action does to a list of entries what it says and nothing else, or is refused by name. */
import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { ParamsError } from '../../../shared/params-error.ts';
import { act, versionOf, type Outcome } from './actions.ts';
import { refusal } from './curated-fixture.ts';
import { sizeOf } from './file-format.ts';
import type { Operation } from './memory-params.ts';

interface Given {
  limit?: number;
  earlier?: string[][];
  maySayCredentials?: boolean;
  isBatch?: boolean;
}

function on(
  entries: readonly string[],
  operations: Operation | Operation[],
  { limit = 2200, earlier = [], maySayCredentials = false, isBatch = Array.isArray(operations) }: Given = {},
): Outcome {
  const list = Array.isArray(operations) ? operations : [operations];
  const states = earlier.map((state) => ({ entries: state, by: 'loop' }));
  return act({ entries, limit, earlier: states, maySayCredentials }, list, isBatch);
}

const add = (text: string): Operation => ({ action: 'add', text });
const remove = (old: string): Operation => ({ action: 'remove', old });
const replace = (old: string, text: string): Operation => ({ action: 'replace', old, text });

test('add puts one entry more at the end', () => {
  const { entries, changed } = on(['one'], add(' two\r\nlines '));
  assert.deepEqual(entries, ['one', 'two\nlines']);
  assert.deepEqual(changed, [{ before: null, after: 'two\nlines' }]);
});

test('an exact duplicate changes nothing and says so, also in a full file', () => {
  const { entries, changed, note } = on(['one', 'two'], add('one\n'), { limit: 3 });
  assert.deepEqual([entries, changed], [['one', 'two'], []]);
  assert.match(note ?? '', /an entry already/);
});

test('replace makes the whole entry the new text and returns both', () => {
  const { entries, changed } = on(['A: 1\nB: 2\nC: 3', 'other'], replace('B: 2', 'B: 4'));
  assert.deepEqual(entries, ['B: 4', 'other']);
  assert.deepEqual(changed, [{ before: 'A: 1\nB: 2\nC: 3', after: 'B: 4' }]);
});

test('of 28 entries near the limit, a replace changes one', () => {
  const before = Array.from({ length: 28 }, (_, at) => `entry number ${at} ${'x'.repeat(55)}`);
  const { entries } = on(before, replace('number 7 ', 'the seventh'), { limit: sizeOf(before) + 10 });
  assert.equal(entries.length, 28);
  assert.deepEqual(
    entries.filter((entry, at) => entry !== before[at]),
    ['the seventh'],
  );
});

test('an entry equal to the old text comes before those that contain it', () => {
  assert.deepEqual(on(['likes tea and cake', 'likes tea', 'tea'], remove('likes tea')).entries, [
    'likes tea and cake',
    'tea',
  ]);
});

test('an old text in several different entries is ambiguous, and they are named', () => {
  assert.throws(
    () => on(['tea at four', 'coffee', 'tea at five'], remove('tea')),
    refusal('memory-ambiguous', { entries: ['tea at four', 'tea at five'] }),
  );
});

test('entries that are the same word for word are one entry', () => {
  assert.deepEqual(on(['tea', 'coffee', 'tea'], remove('tea')).entries, ['coffee']);
  const { entries, note } = on(['green tea', 'coffee', 'green tea'], replace('green', 'black tea'));
  assert.deepEqual(entries, ['black tea', 'coffee', 'green tea']);
  assert.match(note ?? '', /still in another entry/);
});

test('an old text in no entry names the nearest', () => {
  const entries = ['The build runs on Debian 12', 'Ann likes green tea', 'Deploys on Fridays'];
  for (const old of ['Ann likes green tee', 'likes gren tea', 'ANN LIKES GREEN TEA.']) {
    assert.throws(
      () => on(entries, remove(old)),
      refusal('memory-no-match', { nearest: ['Ann likes green tea'] }),
    );
  }
  assert.throws(() => on([], remove('x')), refusal('memory-no-match', { nearest: [] }));
});

test('an entry is found by the text that the block shows of it', () => {
  assert.deepEqual(on(['Steps:\n- boil\n- pour', 'b'], remove('- Steps:\n  - boil\n  - pour')).entries, [
    'b',
  ]);
  assert.deepEqual(on(['a\u202eb', 'c'], remove('a\\u202Eb')).entries, ['c']);
});

test('an entry that holds what separates entries elsewhere is one entry and goes by its own text', () => {
  const text = 'Steps:\n§\nrun it\n\n- not an entry';
  const { entries } = on(['neighbour'], add(text));
  assert.deepEqual(entries, ['neighbour', text]);
  assert.deepEqual(on(entries, remove(text)).entries, ['neighbour']);
});

test('a write that would pass the limit is refused with the numbers and the entries', () => {
  const entries = ['x'.repeat(2190)];
  assert.throws(
    () => on(entries, add('y'.repeat(100))),
    refusal('memory-full', { used: 2190, limit: 2200, need: 101, entries }),
  );
  assert.deepEqual(on(entries, add('y'.repeat(9))).entries.length, 2);
});

test('the limit counts code points and one for each separator', () => {
  assert.equal(on(['👍'.repeat(5)], add('é'.repeat(4)), { limit: 10 }).entries.length, 2);
  assert.throws(
    () => on(['👍'.repeat(5)], add('é'.repeat(5)), { limit: 10 }),
    refusal('memory-full', { need: 6 }),
  );
});

test('what shrinks is always allowed, also above the limit', () => {
  const entries = ['x'.repeat(50), 'y'.repeat(50)];
  assert.deepEqual(on(entries, remove('x'.repeat(50)), { limit: 10 }).entries, ['y'.repeat(50)]);
  assert.deepEqual(on(entries, replace('y', 'z'), { limit: 10 }).entries, ['x'.repeat(50), 'z']);
  assert.throws(() => on(entries, replace('y', 'z'.repeat(51)), { limit: 10 }), refusal('memory-full'));
});

test('consolidate makes the file exactly these entries, and needs the version last seen', () => {
  const entries = ['a', 'b', 'c'];
  const consolidate = (expect: string): Operation => ({
    action: 'consolidate',
    entries: ['a and b', 'c'],
    expect,
  });
  const { entries: after, changed } = on(entries, consolidate(versionOf(entries)));
  assert.deepEqual(after, ['a and b', 'c']);
  assert.equal(changed.filter((change) => change.before === 'c').length, 0);
  assert.throws(
    () => on(entries, consolidate(versionOf(['a', 'b']))),
    refusal('memory-changed', { version: versionOf(entries), entries }),
  );
});

test('a consolidation of a million entries is refused before anybody looks at each', () => {
  const many = Array.from({ length: 1_000_000 }, () => 'x');
  assert.throws(
    () => on(['a'], { action: 'consolidate', entries: many, expect: versionOf(['a']) }),
    refusal('memory-full', { need: 1_999_998 }),
  );
});

test('operations are all or nothing and judged by the final size', () => {
  const entries = ['x'.repeat(20), 'b'];
  assert.deepEqual(on(entries, [add('y'.repeat(15)), remove('x'.repeat(20))], { limit: 22 }).entries, [
    'b',
    'y'.repeat(15),
  ]);
  assert.throws(() => on(entries, [add('c'), remove('nothing')], { limit: 100 }), refusal('memory-no-match'));
  assert.throws(() => on(entries, [remove('b'), add('z'.repeat(30))], { limit: 22 }), refusal('memory-full'));
});

test('operations see what those before them did, and report what is different in the end', () => {
  const { entries, changed } = on(['a'], [add('b'), replace('b', 'c'), remove('a')]);
  assert.deepEqual(entries, ['c']);
  assert.deepEqual(
    changed.toSorted((left) => (left.before === null ? 1 : -1)),
    [
      { before: 'a', after: null },
      { before: null, after: 'c' },
    ],
  );
});

test('a batch that empties a file is refused, and so is a consolidation', () => {
  const empties = refusal('memory-refused', { reason: 'empties' });
  assert.throws(() => on(['a', 'b'], [remove('a'), remove('b')]), empties);
  assert.throws(() => on(['a'], { action: 'consolidate', entries: [], expect: versionOf(['a']) }), empties);
  assert.deepEqual(on(['a'], remove('a')).entries, []);
});

test('undo goes back one change, and says when there is none', () => {
  assert.deepEqual(on(['a', 'b'], { action: 'undo' }, { earlier: [['a'], []] }).entries, ['a']);
  const none = on(['a'], { action: 'undo' });
  assert.deepEqual(none.entries, ['a']);
  assert.match(none.note ?? '', /no change left/);
});

test('undo in a batch takes back what the batch did first, then what the history holds', () => {
  const undo: Operation = { action: 'undo' };
  assert.deepEqual(on(['a', 'b'], [add('c'), undo, undo], { earlier: [['a']] }).entries, ['a']);
});

test('undo may bring back what is above the limit by now', () => {
  const big = ['x'.repeat(50)];
  assert.deepEqual(on(['x'], { action: 'undo' }, { limit: 10, earlier: [big] }).entries, big);
});

test('the same bad text is refused through every action', () => {
  const bad = 'a\u000bfake entry';
  const refused = refusal('memory-refused', { reason: 'control', codepoint: 'U+000B', offset: 1 });
  assert.throws(() => on(['a'], add(bad)), refused);
  assert.throws(() => on(['a'], replace('a', bad)), refused);
  assert.throws(() => on(['a'], [add('b'), add(bad)]), refused);
  assert.throws(
    () => on(['a'], { action: 'consolidate', entries: ['a', bad], expect: versionOf(['a']) }),
    refusal('memory-refused', { reason: 'control', codepoint: 'U+000B', offset: 1, index: 1 }),
  );
});

test('a credential is refused from a model and taken from the person', () => {
  const text = `the token is ghp_${'a1B2'.repeat(9)}`;
  assert.throws(() => on([], add(text)), refusal('memory-refused', { reason: 'credential', kind: 'github' }));
  assert.deepEqual(on([], add(text), { maySayCredentials: true }).entries, [text]);
  const kept = on([text, 'b'], {
    action: 'consolidate',
    entries: ['b', text],
    expect: versionOf([text, 'b']),
  });
  assert.deepEqual(kept.entries, ['b', text], 'what the person wrote may be carried on');
});

test('an old text of nothing is refused', () => {
  assert.throws(() => on(['a'], remove('  ')), ParamsError);
});

test('whatever is asked, the entries change only as reported, and never grow beyond the limit', () => {
  const word = fc.constantFrom('a', 'b', 'ab', 'tea', 'tea at four', 'a\n- b', 'é', '👍👍', 'x'.repeat(30));
  const operation: fc.Arbitrary<Operation> = fc.oneof(
    word.map(add),
    word.map(remove),
    fc.tuple(word, word).map(([old, text]) => replace(old, text)),
    fc.constant<Operation>({ action: 'undo' }),
  );
  fc.assert(
    fc.property(
      fc.array(word, { maxLength: 6 }),
      fc.array(operation, { minLength: 1, maxLength: 4 }),
      (before, asked) => {
        let outcome: Outcome;
        try {
          outcome = on(before, asked, { limit: 40, isBatch: asked.length > 1 });
        } catch {
          return;
        }
        const count = (list: readonly (string | null)[], text: string) =>
          list.filter((it) => it === text).length;
        const { entries, changed } = outcome;
        for (const text of new Set([...before, ...entries])) {
          const went = count(
            changed.map((change) => change.before),
            text,
          );
          const came = count(
            changed.map((change) => change.after),
            text,
          );
          assert.equal(count(entries, text), count(before, text) - went + came, text);
        }
        if (sizeOf(entries) > sizeOf(before)) assert.ok(sizeOf(entries) <= 40);
      },
    ),
  );
});

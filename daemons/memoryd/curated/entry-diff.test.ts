/** Goal: a difference tells what went, came and was reworded, and can be made again on another list. */
import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { applyChanges, diffEntries } from './entry-diff.ts';
import { likeness, nearDuplicates, nearestTo } from './similarity.ts';

const word = fc.constantFrom('a', 'b', 'c', 'likes tea', 'likes green tea', 'x'.repeat(20));
const list = fc.array(word, { maxLength: 8 });

test('what is the same, or only moved, is no change', () => {
  assert.deepEqual(diffEntries(['a', 'b', 'c'], ['a', 'b', 'c']), []);
  assert.deepEqual(diffEntries(['a', 'b', 'c'], ['c', 'a', 'b']), []);
});

test('an entry that was reworded in its place is one change', () => {
  assert.deepEqual(diffEntries(['x', 'Ann likes tea', 'y'], ['x', 'Ann likes green tea', 'y', 'z']), [
    { before: 'Ann likes tea', after: 'Ann likes green tea' },
    { before: null, after: 'z' },
  ]);
  assert.deepEqual(diffEntries(['Debian'], ['a cat']), [
    { before: 'Debian', after: null },
    { before: null, after: 'a cat' },
  ]);
});

test('a difference accounts for every entry', () => {
  fc.assert(
    fc.property(list, list, (before, after) => {
      const changed = diffEntries(before, after);
      const went = changed.flatMap((change) => change.before ?? []);
      const came = changed.flatMap((change) => change.after ?? []);
      assert.deepEqual([...before, ...came].toSorted(), [...after, ...went].toSorted());
    }),
  );
});

test('a change made again where it is made already does nothing more', () => {
  const lists = fc.uniqueArray(word, { maxLength: 6 });
  fc.assert(
    fc.property(lists, lists, (before, after) => {
      const changed = diffEntries(before, after);
      assert.deepEqual(applyChanges(before, changed).toSorted(), after.toSorted());
      assert.deepEqual(applyChanges(after, changed), after);
    }),
  );
});

test('lists of any length are compared in bounded time', () => {
  const many = (from: number) => Array.from({ length: 3000 }, (_, at) => `entry ${from + at}`);
  assert.equal(diffEntries(many(0), many(10_000)).length, 6000);
  assert.equal(diffEntries(many(0), many(1000)).length, 2000);
});

test('likeness is 1 for the same words, whatever their case and marks, and 0 for others', () => {
  assert.equal(likeness('Likes tea!', 'likes  TEA'), 1);
  assert.equal(likeness('用户', 'likes tea'), 0);
  assert.equal(likeness('', ''), 1);
});

test('the nearest entries come best first, and always one', () => {
  const entries = ['The build runs on Debian', 'likes tea', 'likes green tea', '用户身份校验'];
  assert.deepEqual(nearestTo('likes gren tea', entries), ['likes green tea', 'likes tea']);
  assert.deepEqual(nearestTo('用户身份', entries), ['用户身份校验']);
  assert.equal(nearestTo('qqq', entries).length, 1);
});

test('near-duplicates point at the earlier entry', () => {
  assert.deepEqual(nearDuplicates(['Ann likes green tea', 'Debian 12', 'ann likes green tea.', 'a cat']), [
    undefined,
    undefined,
    0,
    undefined,
  ]);
});

/** What is shown of a long text: within its budget, around the match, whole characters. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { excerpt } from './excerpt.ts';

const around = (at: number) => [{ at, weight: 1 }];

void test('an excerpt ends behind an emoji that stands before a space, not inside of it', () => {
  const text = `${'word '.repeat(40)}👩‍👧 ${'word '.repeat(40)}`;
  for (let charsMax = 150; charsMax < 260; charsMax += 1) {
    const { text: part } = excerpt(text, { charsMax, focus: around(100) });
    assert.ok(part.isWellFormed(), JSON.stringify(part.slice(-12)));
  }
});

void test('no excerpt of any text holds half a character, is empty, or passes its budget', () => {
  const piece = fc.constantFrom(
    'a',
    ' ',
    '  ',
    'wörd ',
    '👨‍👩‍👧',
    '👧 ',
    '🇩🇪',
    '漢字',
    'e\u0301',
    '\u200d',
    '😀'.repeat(80),
    '👧\u200d'.repeat(60),
  );
  fc.assert(
    fc.property(
      fc.array(piece, { minLength: 1, maxLength: 60 }),
      fc.nat({ max: 400 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (pieces, room, place) => {
        const text = pieces.join('');
        const charsMax = room + 1;
        const { text: part, isCut } = excerpt(text, {
          charsMax,
          focus: around(Math.floor(place * text.length)),
        });
        assert.ok(part.isWellFormed(), JSON.stringify(part));
        assert.notEqual(part, '');
        assert.ok(text.includes(part));
        assert.equal(isCut, part !== text);
        // One code point is shown even where the budget is half of it.
        assert.ok(part.length <= Math.max(charsMax, 2), `${part.length} over ${charsMax}`);
      },
    ),
    { numRuns: 2_000 },
  );
});

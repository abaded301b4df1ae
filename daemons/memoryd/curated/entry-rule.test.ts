/** Goal: what may not be an entry is refused by name and place, what people write in any script is accepted, and what stands in a file all the same is shown harmless. */
import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { AppError } from '../../../shared/errors.ts';
import { acceptEntry, breachOf, codePoints, normalizeEntry, showHarmless } from './entry-rule.ts';

function refusal(text: string): Record<string, unknown> {
  try {
    acceptEntry(text);
  } catch (error) {
    assert.ok(error instanceof AppError);
    assert.equal(error.code, 'memory-refused');
    return error.details;
  }
  return assert.fail(`accepted: ${JSON.stringify(text)}`);
}

test('every control character but TAB and line ends is refused, saying what and where', () => {
  for (let code = 0; code < 0xa0; code += 1) {
    if ((code >= 0x20 && code < 0x7f) || [0x09, 0x0a, 0x0d].includes(code)) continue;
    const codepoint = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
    const reason = code === 0x85 ? 'line-separator' : 'control';
    assert.deepEqual(refusal(`👍b${String.fromCodePoint(code)}c`), { reason, codepoint, offset: 2 });
    assert.deepEqual(refusal(`${String.fromCodePoint(code)}outer`), { reason, codepoint, offset: 0 });
    assert.deepEqual(refusal(`outer${String.fromCodePoint(code)}`), { reason, codepoint, offset: 5 });
  }
});

test('what forges a line or reorders text is refused', () => {
  for (const code of [0x2028, 0x2029])
    assert.equal(refusal(`a${String.fromCodePoint(code)}b`)['reason'], 'line-separator');
  for (const code of [0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069])
    assert.equal(refusal(`a${String.fromCodePoint(code)}b`)['reason'], 'bidi');
  assert.deepEqual(refusal('a\u000bfake entry'), { reason: 'control', codepoint: 'U+000B', offset: 1 });
});

test('text that is empty or cannot be seen is refused', () => {
  for (const text of ['', ' ', '\n\t\r\n', '\u00a0\u3000']) assert.equal(refusal(text)['reason'], 'empty');
  for (const text of [
    '\u200b',
    ' \u200d\u2060 ',
    '\u3164',
    '\u{e0041}\u{e007f}',
    '\u2800',
    '\u00ad',
    '\ufe0f',
  ])
    assert.equal(refusal(text)['reason'], 'invisible', JSON.stringify(text));
});

test('joiners, marks and emoji of all scripts are accepted as they are', () => {
  for (const text of [
    '👨‍👩‍👧 family',
    'نمی‌خواهم',
    'שלום\u200f!',
    '\u200eleft',
    '🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}',
    'e\u0301',
    'क्‍ष',
    '用户\u3000身份',
    'tab\tinside',
    'soft\u00adhyphen',
    'a\ufeffb',
  ])
    assert.equal(acceptEntry(text), text);
});

test('line ends become LF and outer blanks go', () => {
  assert.equal(acceptEntry('\r\n  a\r\nb\rc\n\n d \n'), 'a\nb\nc\n\n d');
  assert.equal(acceptEntry('\ufeffleading BOM'), 'leading BOM');
  assert.equal(acceptEntry('lone \ud800 surrogate'), 'lone \ufffd surrogate');
});

test('what is accepted stays accepted and the same', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      if (breachOf(text)) return;
      const accepted = acceptEntry(text);
      assert.equal(acceptEntry(accepted), accepted);
      assert.equal(showHarmless(accepted), accepted);
      assert.equal(normalizeEntry(accepted), accepted);
    }),
  );
});

test('what breaks the rule is shown as escapes, and then keeps it', () => {
  assert.equal(showHarmless('a\u202eb'), 'a\\u202Eb');
  assert.equal(showHarmless('\u200b'), '\\u200B');
  assert.equal(showHarmless('\u{e0041}'), '\\u{E0041}');
  fc.assert(
    fc.property(fc.string({ unit: 'binary', minLength: 1 }), (text) => {
      const shown = showHarmless(text.replaceAll('\r', ''));
      if (shown.trim() !== '') assert.equal(breachOf(shown), undefined, JSON.stringify(shown));
    }),
  );
});

test('code points are counted, whatever their width', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) =>
      assert.equal(codePoints(text), Array.from(text).length),
    ),
  );
  assert.equal(codePoints('\ud800\ud800\udc00\udc00'), 3);
});

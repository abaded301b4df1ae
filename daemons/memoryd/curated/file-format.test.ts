/** Goal: entries come back as they went in, whatever they hold, and what people type is read without losing any of it. */
import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { AppError } from '../../../shared/errors.ts';
import { breachOf, normalizeEntry } from './entry-rule.ts';
import { emptyFile, parse, render, sizeOf } from './file-format.ts';

const bytes = (text: string) => Buffer.from(text, 'utf8');
const read = (text: string) => parse(bytes(text));

/** Any allowed entry, rich in what could be taken for structure. */
const structure = fc.constantFrom(
  '\n',
  '\n\n',
  '- ',
  '* ',
  '+ ',
  '  ',
  '\t',
  '# ',
  '1. ',
  '```',
  '~~~',
  '---',
  '>',
  '§',
  '\r\n',
  ' ',
  'a',
  '\\',
  '👨‍👩‍👧',
  'نمی‌خواهم',
  'é',
  'é',
  '用户',
  '</memory>',
  '\u00a0',
  '\u3000',
  '\ufeff',
  '\u200b',
);
const entry = fc
  .oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: 'grapheme' }),
    fc.array(structure, { maxLength: 12 }).map((parts) => parts.join('')),
  )
  .filter((text) => breachOf(text) === undefined)
  .map(normalizeEntry);
const entries = fc.array(entry, { maxLength: 8 });

/** Any file that a person or a program may leave there. */
const anyFile = fc
  .oneof(
    fc.string({ unit: 'binary' }),
    fc
      .array(fc.oneof(structure, fc.string({ unit: 'grapheme', maxLength: 5 })), { maxLength: 40 })
      .map((parts) => parts.join('')),
  )
  .filter((text) => text === '' || /[^\0]/.test(text));

test('any list of allowed entries comes back as it went in', () => {
  fc.assert(
    fc.property(entries, (list) => assert.deepEqual(parse(render(emptyFile, list)).entries, list)),
    { numRuns: 400 },
  );
});

test('any list of entries comes back from any file that stood there, and its preamble with it', () => {
  fc.assert(
    fc.property(anyFile, entries, (text, list) => {
      const before = read(text.toWellFormed());
      const after = parse(render(before, list));
      assert.deepEqual(after.entries, list);
      assert.equal(after.preamble, before.preamble);
    }),
    { numRuns: 400 },
  );
});

test('a file that is written back with its own entries is the same bytes but for a last line end', () => {
  fc.assert(
    fc.property(anyFile, (text) => {
      const source = text.toWellFormed();
      const file = read(source);
      const written = render(file, file.entries).toString('utf8');
      assert.ok([source, `${source}\n`, `${source}\r\n`].includes(written), JSON.stringify(written));
    }),
    { numRuns: 400 },
  );
});

test('no word of any file is lost: each is in the preamble or in an entry', () => {
  fc.assert(
    fc.property(anyFile, (text) => {
      const file = read(text.toWellFormed());
      const kept = [file.preamble, ...file.entries].join('\n');
      const words = text.toWellFormed().match(/[\p{L}\p{N}]+/gu) ?? [];
      for (const word of words) assert.ok(kept.includes(word), word);
    }),
    { numRuns: 400 },
  );
});

test('an entry is written as one item, its further lines indented by two spaces', () => {
  assert.equal(
    render(emptyFile, ['one', 'Steps:\n§\nrun it\n\n- not an item', 'three']).toString(),
    '- one\n- Steps:\n  §\n  run it\n\n  - not an item\n- three\n',
  );
});

test('text before the first item is kept', () => {
  const file = read('# Memory\n\nWhat I know.\n\n- one\n');
  assert.equal(file.preamble, '# Memory\n\nWhat I know.');
  assert.deepEqual(file.entries, ['one']);
  assert.equal(render(file, ['one', 'two']).toString(), '# Memory\n\nWhat I know.\n\n- one\n- two\n');
  assert.equal(render(file, []).toString(), '# Memory\n\nWhat I know.\n\n');
});

test('the first entry of a file with nothing but text stands below it', () => {
  assert.equal(render(read('# Memory'), ['one']).toString(), '# Memory\n\n- one\n');
  assert.deepEqual(read('Just words.\n\nMore words.').entries, []);
});

test('CRLF and a BOM are read, and stay as they were', () => {
  const source = '\ufeff# Me\r\n\r\n- one\r\n- two\r\n  more\r\n- three\r\n- four\r\n- five\r\n';
  const file = read(source);
  assert.equal(file.preamble, '# Me');
  assert.deepEqual(file.entries, ['one', 'two\nmore', 'three', 'four', 'five']);
  const replaced = file.entries.with(2, 'THREE\nlines');
  assert.equal(render(file, replaced).toString(), source.replace('- three\r\n', '- THREE\r\n  lines\r\n'));
});

test('lone carriage returns end lines too', () => {
  assert.deepEqual(read('- one\r- two\r  more').entries, ['one', 'two\nmore']);
});

test('bullets of other kinds and with other gaps are items', () => {
  assert.deepEqual(read('* one\n+ two\n-   three\n    more\n-\tfour\n\tmore\n - five\n- [ ] six\n').entries, [
    'one',
    'two',
    'three\nmore',
    'four\nmore',
    'five',
    '[ ] six',
  ]);
});

test('a line that goes on without indentation belongs to the entry above', () => {
  assert.deepEqual(read('- a sentence that an editor\nwrapped by itself\n- two\n').entries, [
    'a sentence that an editor\nwrapped by itself',
    'two',
  ]);
});

test('nested items and code belong to their entry, with their indentation', () => {
  assert.deepEqual(read('- one\n  - nested\n    - deeper\n\n      code\n- two\n').entries, [
    'one\n- nested\n  - deeper\n\n    code',
    'two',
  ]);
});

test('a heading or a paragraph between items is an entry of its own and keeps its form', () => {
  const source = '- one\n\n## Home\n- two\n\nLives by the sea\nwith a dog.\n\n- three\n';
  const file = read(source);
  assert.deepEqual(file.entries, ['one', '## Home', 'two', 'Lives by the sea\nwith a dog.', 'three']);
  assert.equal(render(file, [...file.entries, 'four']).toString(), `${source}- four\n`);
  assert.equal(
    render(file, file.entries.with(0, 'ONE')).toString(),
    '- ONE\n## Home\n- two\n\nLives by the sea\nwith a dog.\n\n- three\n',
  );
});

test('each line of a numbered list is an entry with its number', () => {
  assert.deepEqual(read('# Facts\n1. likes tea\n2. lives here\n   for now\n').entries, [
    '1. likes tea',
    '2. lives here\nfor now',
  ]);
  assert.deepEqual(read('- Steps:\n1. boil\n2. pour\n').entries, ['Steps:\n1. boil\n2. pour']);
});

test('an item in an unindented code fence is code', () => {
  assert.equal(read('```\n- no item\n```\n- one\n').preamble, '```\n- no item\n```');
  assert.deepEqual(read('- run\n```sh\n- x\n\n- y\n```\n- two\n').entries, [
    'run\n```sh\n- x\n\n- y\n```',
    'two',
  ]);
  assert.deepEqual(read('- run\n```\n- two\n').entries, ['run\n```', 'two'], 'a fence that never closes');
});

test('an empty bullet is no entry and stays where it is', () => {
  const file = read('- \n- one\n-\n- two\n');
  assert.deepEqual(file.entries, ['one', 'two']);
  assert.equal(render(file, ['one', 'two', 'three']).toString(), '- \n- one\n-\n- two\n- three\n');
});

test('blank lines between all items stay the habit of the file', () => {
  const file = read('- one\n\n- two\n\n- three\n');
  assert.equal(render(file, [...file.entries, 'four']).toString(), '- one\n\n- two\n\n- three\n\n- four\n');
});

test('an entry that is a paragraph becomes an item where it would otherwise be taken for the preamble', () => {
  const file = read('- one\n\nA paragraph.\n');
  assert.equal(render(file, ['A paragraph.']).toString(), '- A paragraph.\n');
  assert.equal(render(file, ['ONE', 'A paragraph.']).toString(), '- ONE\n\nA paragraph.\n');
});

for (const [name, source, offset] of [
  ['a lone continuation byte', [0x2d, 0x20, 0x80], 2],
  ['a cut sequence at the end', [0x61, 0xe6, 0xbc], 1],
  ['an overlong form', [0x61, 0x62, 0xc0, 0xaf], 2],
  ['a surrogate', [0xed, 0xa0, 0x80], 0],
  ['UTF-16', [0xff, 0xfe, 0x61, 0x00], 0],
  ['Latin-1', [...bytes('- caf')].concat(0xe9, 0x0a), 5],
  ['beyond the last code point', [0xf4, 0x90, 0x80, 0x80], 0],
] as const) {
  test(`bytes that are not UTF-8 are refused with their offset: ${name}`, () => {
    assert.throws(
      () => parse(Uint8Array.from(source)),
      (error) =>
        error instanceof AppError && error.code === 'memory-unreadable' && error.details['offset'] === offset,
    );
  });
}

test('a file of zero bytes, as a power cut leaves them, is unreadable and not empty', () => {
  assert.throws(
    () => parse(Buffer.alloc(512)),
    (error) => error instanceof AppError && error.code === 'memory-unreadable',
  );
  assert.deepEqual(parse(Buffer.alloc(0)).entries, []);
});

test('the size counts code points and one for each separator', () => {
  assert.equal(sizeOf([]), 0);
  assert.equal(sizeOf(['abc']), 3);
  assert.equal(sizeOf(['abc', '👍é', 'x\ny']), 3 + 1 + 2 + 1 + 3);
});

/**
 * Goal: what is promised of block and memory holds, on the socket and in the file.
 * Method: the real daemon, asked over its sockets with bytes written by hand, no client of ours in between.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { BareDaemon } from './testing/bare-daemon.ts';
import { codeOf, type Answer } from './testing/wire.ts';

const bare = BareDaemon.forAll();
const file = bare.path('memory', 'memory.md');
const memory = (params: object) => bare.ask('memory', { file: 'memory', ...params });
const entriesOf = (answer: Answer) => answer.result?.['entries'];

test('the version is the sha256 of the text, and both outlive a restart in another time zone', async () => {
  const { result } = await bare.ask('block');
  const { text, version } = result as { text: string; version: string };
  assert.equal(version, createHash('sha256').update(text).digest('hex'));
  assert.equal(await bare.memoryd.stop(), 0);
  await bare.start({ TZ: 'Pacific/Kiritimati' });
  assert.equal((await bare.ask('block')).result?.['text'], text);
  assert.equal(await bare.memoryd.stop(), 0);
  await bare.start({ TZ: 'Europe/Berlin' });
});

test('every action answers with what it changed, under every name that is understood', async () => {
  writeFileSync(file, '');
  await memory({ action: 'view' });
  for (const [params, changed] of [
    [{ action: 'add', content: 'one' }, [{ before: null, after: 'one' }]],
    [{ action: 'add', text: ' one\r\n' }, []],
    [{ action: 'replace', old_text: 'on', new_text: 'two' }, [{ before: 'one', after: 'two' }]],
    [
      { action: 'replace', old_string: 'two', content: '- two\n- and more of two' },
      [{ before: 'two', after: '- two\n- and more of two' }],
    ],
    [{ action: 'undo' }, [{ before: '- two\n- and more of two', after: 'two' }]],
    [{ action: 'remove', old: 'two' }, [{ before: 'two', after: null }]],
  ] as const)
    assert.deepEqual((await memory(params)).result?.['changed'], changed, params.action);
  assert.deepEqual(entriesOf(await bare.ask('memory', { action: 'add', target: 'memory', text: 'a' })), [
    'a',
  ]);
});

test('an entry equal to the old text comes first; otherwise several are ambiguous and none has neighbours', async () => {
  writeFileSync(file, '- alpha beta\n- alpha\n- gamma alpha\n');
  assert.deepEqual(entriesOf(await memory({ action: 'remove', old: 'alpha' })), [
    'alpha beta',
    'gamma alpha',
  ]);
  const several = await memory({ action: 'remove', old: 'alpha' });
  assert.deepEqual(
    [codeOf(several), several.error?.data?.['entries']],
    ['memory-ambiguous', ['alpha beta', 'gamma alpha']],
  );
  const none = await memory({ action: 'remove', old: 'gamma alhpa' });
  assert.deepEqual([codeOf(none), none.error?.data?.['nearest']], ['memory-no-match', ['gamma alpha']]);
});

test('the limit counts code points and separators, and a batch is judged by its final size', async () => {
  writeFileSync(file, `- ${'é'.repeat(2000)}\n`);
  assert.equal((await memory({ action: 'add', text: '😀'.repeat(199) })).result?.['used'], 2200);
  const full = await memory({ action: 'add', text: 'z' });
  const { used, limit, need, entries } = full.error?.data ?? {};
  assert.deepEqual(
    [codeOf(full), used, limit, need, (entries as []).length],
    ['memory-full', 2200, 2200, 2, 2],
  );
  const batch = [
    { action: 'add', text: 'new' },
    { action: 'remove', old: '😀' },
  ];
  assert.equal((await memory({ operations: batch })).result?.['used'], 2004);
  const emptied = await memory({
    operations: [
      { action: 'remove', old: 'é' },
      { action: 'remove', old: 'new' },
    ],
  });
  assert.equal(codeOf(emptied), 'memory-refused');
});

test('consolidate refuses a file that changed since, with the fresh entries', async () => {
  writeFileSync(file, '- a\n- b\n');
  const expect = (await memory({ action: 'view' })).result?.['version'];
  writeFileSync(file, '- a\n- b\n- by hand\n');
  const changed = await memory({ action: 'consolidate', entries: ['ab'], expect });
  assert.deepEqual(
    [codeOf(changed), changed.error?.data?.['entries']],
    ['memory-changed', ['a', 'b', 'by hand']],
  );
  assert.deepEqual(
    entriesOf(
      await memory({ action: 'consolidate', entries: ['ab'], expect: changed.error?.data?.['version'] }),
    ),
    ['ab'],
  );
});

test('a file that cannot be read, or is missing with a history, is an error and left alone; CRLF and BOM are not', async () => {
  const bytes = Buffer.from('- a\xff\n', 'latin1');
  writeFileSync(file, bytes);
  for (const answer of [
    await memory({ action: 'view' }),
    await memory({ action: 'add', text: 'x' }),
    await bare.ask('block'),
  ])
    assert.deepEqual([codeOf(answer), answer.error?.data?.['offset']], ['memory-unreadable', 3]);
  assert.deepEqual(readFileSync(file), bytes);
  rmSync(file);
  for (const answer of [
    await memory({ action: 'view' }),
    await memory({ action: 'add', text: 'x' }),
    await bare.ask('block'),
  ])
    assert.equal(codeOf(answer), 'memory-unreadable');
  mkdirSync(file);
  assert.equal(codeOf(await bare.ask('block')), 'memory-unreadable');
  rmSync(file, { recursive: true });
  writeFileSync(file, '\ufeff# Title\r\n- one\r\n  more\r\n- two\r\n');
  assert.deepEqual(entriesOf(await memory({ action: 'view' })), ['one\nmore', 'two']);
});

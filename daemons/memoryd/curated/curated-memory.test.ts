/**
 * Goal: the two files do what their contract says, on a real disk with a real record store. Method: requests as a
 * loop, a gate or an operator would send them, and edits as a person's editor makes them.
 */
import assert from 'node:assert/strict';
import { renameSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import test from 'node:test';
import { TestHome } from '../store/test-home.ts';
import { versionOf } from './actions.ts';
import { CuratedFixture, refusal, TestClock } from './curated-fixture.ts';

const home = new TestHome();
const open = async (options = {}) => await CuratedFixture.open(home, options);

test('a new memory is empty, and its first entry makes the file', async () => {
  const it = await open();
  assert.deepEqual(await it.call({ action: 'view' }), {
    file: 'memory',
    version: versionOf([]),
    entries: [],
    used: 0,
    limit: 2200,
    changed: [],
  });
  assert.equal((await it.memory.block()).text, '');
  const reply = await it.add('likes tea');
  assert.deepEqual(reply.changed, [{ before: null, after: 'likes tea' }]);
  assert.equal(reply.version, versionOf(['likes tea']));
  assert.equal(it.text(), '- likes tea\n');
});

test('the files are for their owner alone, whatever the umask and whatever they were', async () => {
  const before = process.umask(0);
  try {
    const it = await open();
    writeFileSync(it.path(), '- by hand\n', { mode: 0o666 });
    await it.add('one');
    assert.equal(statSync(it.path()).mode & 0o777, 0o600);
  } finally {
    process.umask(before);
  }
});

test('a hand edit is merged into the next write, and recorded', async () => {
  const it = await open();
  await it.add('one', 'two');
  it.write('# Mine\n\n- one\n- two, reworded by hand\n- three\n');
  const reply = await it.add('four');
  assert.deepEqual(reply.entries, ['one', 'two, reworded by hand', 'three', 'four']);
  assert.equal(it.text(), '# Mine\n\n- one\n- two, reworded by hand\n- three\n- four\n');
  const { changes } = await it.memory.log({ file: 'memory' });
  assert.deepEqual(
    changes.map(({ by, action }) => `${by} ${action}`),
    ['loop add', 'hand edit', 'loop add', 'loop add'],
  );
  assert.deepEqual(changes[1]?.changed, [
    { before: 'two', after: 'two, reworded by hand' },
    { before: null, after: 'three' },
  ]);
});

test('a write on an older view keeps what others wrote', async () => {
  const it = await open();
  await it.add('mine');
  it.write(`${it.text()}- ${'8 KB of somebody else '.repeat(50)}\n`);
  const reply = await it.call({ action: 'replace', old: 'mine', text: 'mine, newer' });
  assert.equal(reply.entries.length, 2);
  assert.ok(it.text().includes('8 KB of somebody else'));
});

test('every action follows the same rule on a file that was edited by hand', async () => {
  const asked = [
    { action: 'add', text: 'new' },
    { action: 'replace', old: 'one', text: 'new' },
    { action: 'remove', old: 'two' },
  ] as const;
  for (const params of asked) {
    const it = await open();
    it.write('Preface\n* one\n\nA paragraph.\n+ two\n+ three\n');
    const { entries } = await it.call(params);
    assert.ok(it.text().startsWith('Preface\n'), params.action);
    assert.ok(it.text().includes('\n\nA paragraph.\n+ '), params.action);
    assert.deepEqual(await it.entries(), entries);
  }
});

test('of a CRLF file with five entries, a replace changes one', async () => {
  const it = await open();
  it.write('- a\r\n- b\r\n- c\r\n- d\r\n- e\r\n');
  await it.call({ action: 'replace', old: 'c', text: 'C' });
  assert.equal(it.text(), '- a\r\n- b\r\n- C\r\n- d\r\n- e\r\n');
});

test('an entry that holds a delimiter goes in as one, comes out as one, and leaves its neighbour alone', async () => {
  const it = await open();
  const text = 'Steps:\n§\nrun it\n\n- a line that looks like an entry\n  indented';
  await it.add('neighbour', text);
  assert.deepEqual(await it.entries(), ['neighbour', text]);
  assert.deepEqual((await it.call({ action: 'remove', old: text })).entries, ['neighbour']);
});

test('fifty adds in one burst make fifty entries', async () => {
  const it = await open();
  const texts = Array.from({ length: 50 }, (_, at) => `entry ${at}`);
  await Promise.all(texts.map((text) => it.call({ action: 'add', text })));
  assert.deepEqual((await it.entries()).toSorted(), texts.toSorted());
  assert.equal((await it.memory.log({ file: 'memory' })).changes.length, 50);
});

test('a consolidation from an old view is refused with the fresh entries, and nothing is lost', async () => {
  const it = await open();
  const { version } = await it.add('a', 'b');
  await it.add('added while the model thought');
  const entries = ['a', 'b', 'added while the model thought'];
  await assert.rejects(
    it.call({ action: 'consolidate', entries: ['a and b'], expect: version }),
    refusal('memory-changed', { entries, version: versionOf(entries) }),
  );
  assert.deepEqual(await it.entries(), entries);
  const done = await it.call({ action: 'consolidate', entries: ['a and b'], expect: versionOf(entries) });
  assert.deepEqual(done.entries, ['a and b']);
});

test('a consolidation that never comes back blocks nobody', async () => {
  const it = await open();
  // All that a client holds while it thinks is a version.
  await it.call({ action: 'view' });
  assert.deepEqual((await it.add('in normal time')).entries, ['in normal time']);
});

test('a full file refuses the same way each time, with what is needed to go on', async () => {
  const it = await open();
  await it.add('x'.repeat(1000), 'y'.repeat(1189));
  for (let times = 0; times < 4; times += 1) {
    await assert.rejects(
      it.call({ action: 'add', text: 'z'.repeat(100) }),
      refusal('memory-full', { used: 2190, limit: 2200, need: 101 }),
    );
  }
  assert.equal((await it.memory.status()).memory.used, 2190);
});

test('undo takes back the last change, again goes one further back, and is in the history itself', async () => {
  const it = await open();
  await it.add('a', 'b');
  await it.call({ action: 'remove', old: 'a' });
  assert.deepEqual((await it.call({ action: 'undo' })).entries, ['a', 'b']);
  assert.deepEqual((await it.call({ action: 'undo' })).entries, ['a']);
  await it.add('c');
  assert.deepEqual((await it.call({ action: 'undo' })).entries, ['a']);
  assert.deepEqual((await it.call({ action: 'undo' })).entries, []);
  const { note, changed } = await it.call({ action: 'undo' });
  assert.match(note ?? '', /no change left/);
  assert.deepEqual(changed, []);
  const { changes } = await it.memory.log({ file: 'memory' });
  assert.deepEqual(
    changes.map(({ action }) => action),
    ['undo', 'undo', 'add', 'undo', 'undo', 'remove', 'add', 'add'],
  );
});

test('undo takes back a hand edit, and never what people had written before', async () => {
  const it = await open();
  it.write('- theirs\n');
  await it.add('ours');
  it.write('- theirs\n- ours, edited\n');
  const undone = await it.call({ action: 'undo' });
  assert.deepEqual(undone.entries, ['theirs', 'ours']);
  assert.match(undone.note ?? '', /made by hand/);
  assert.deepEqual((await it.call({ action: 'undo' })).entries, ['theirs']);
  assert.deepEqual((await it.call({ action: 'undo' })).entries, ['theirs']);
});

test('nothing that was ever an entry is lost, also by a consolidation', async () => {
  const it = await open();
  const { version } = await it.add('a long story', 'another story');
  await it.call({
    action: 'consolidate',
    entries: ['stories'],
    expect: version,
    reason: 'too long',
    origin: { session: 's1', turn: 3 },
  });
  const { changes } = await it.memory.log({ file: 'memory', limit: 1 });
  const [{ changed, reason, origin, by, at } = assert.fail()] = changes;
  const before = changed.flatMap((change) => change.before ?? []).toSorted();
  assert.deepEqual(before, ['a long story', 'another story']);
  assert.deepEqual([reason, origin, by], ['too long', { session: 's1', turn: 3 }, 'loop']);
  assert.match(at, /^2026-11-30T12:00:\d\d\.000Z$/);
});

test('the log is paged, newest first', async () => {
  const it = await open();
  await it.add('a', 'b', 'c', 'd', 'e');
  const seen: unknown[] = [];
  let cursor: string | undefined;
  do {
    const page = await it.memory.log({
      file: 'memory',
      limit: 2,
      ...(cursor === undefined ? {} : { cursor }),
    });
    seen.push(...page.changes.map(({ changed }) => changed[0]?.after));
    cursor = page.next;
  } while (cursor !== undefined);
  assert.deepEqual(seen, ['e', 'd', 'c', 'b', 'a']);
});

test('show says where each entry comes from, and what says nearly the same', async () => {
  const it = await open();
  await it.call({ action: 'add', text: 'Ann likes green tea', origin: { session: 's1', turn: 2 } });
  it.write(`${it.text()}- the build runs on Debian\n- Ann likes green tea a lot\n`);
  await it.entries();
  await it.call({ action: 'replace', old: 'build', text: 'the build runs on Debian 12' }, 'ops');
  const { entries } = await it.memory.show({ file: 'memory' });
  assert.deepEqual(
    entries.map(({ text, by, origin, near }) => ({ text, by, origin, near })),
    [
      { text: 'Ann likes green tea', by: 'loop', origin: { session: 's1', turn: 2 }, near: undefined },
      { text: 'the build runs on Debian 12', by: 'ops', origin: undefined, near: undefined },
      { text: 'Ann likes green tea a lot', by: 'hand', origin: undefined, near: 0 },
    ],
  );
  const [, build] = entries;
  assert.ok(build?.created !== undefined && build.changed !== undefined && build.created < build.changed);
});

test('show gives the entries as they were at a time', async () => {
  const clock = new TestClock();
  const it = await open({ clock });
  await it.add('first');
  clock.ms = Date.UTC(2026, 11, 5, 12);
  await it.add('second');
  const shown = await it.memory.show({ file: 'memory', at: '2026-12-01T00:00:00Z' });
  assert.deepEqual(
    shown.entries.map(({ text }) => text),
    ['first'],
  );
  assert.equal(shown.version, versionOf(['first']));
  assert.deepEqual((await it.memory.show({ file: 'memory', at: '2020-01-01' })).entries, []);
  await assert.rejects(it.memory.show({ file: 'memory', at: 'yesterday' }), /RFC 3339/);
  await assert.rejects(it.memory.show({ file: 'memory', at: '2026-02-30' }), /RFC 3339/);
});

test('a reply that says ok is on the disk: the next start knows it', async () => {
  const at = home.freshDir();
  const it = await open({ at });
  const reply = await it.add('kept');
  // Stopped as SIGKILL would: nothing that runs behind replies is waited for.
  await it.store.close();
  const after = await open({ at, dir: it.dir });
  assert.deepEqual(await after.entries(), reply.entries);
  assert.equal((await after.memory.log({ file: 'memory' })).changes.length, 1);
});

test('the same request_id is done once, also after a restart', async () => {
  const at = home.freshDir();
  const it = await open({ at });
  await it.add('a');
  const request = { action: 'replace', old: 'a', text: 'a b', request_id: 'r1' } as const;
  const first = await it.call(request);
  assert.deepEqual(await it.call(request), first);
  await it.stop();
  const after = await open({ at, dir: it.dir });
  assert.deepEqual(await after.call(request), first);
  await assert.rejects(after.call({ ...request, text: 'other' }), refusal('request-reused'));
});

test('a refusal is not remembered: the same request succeeds when its cause is gone', async () => {
  const it = await open();
  const request = { action: 'remove', old: 'later', request_id: 'r1' } as const;
  await assert.rejects(it.call(request), refusal('memory-no-match'));
  await it.add('later');
  assert.deepEqual((await it.call(request)).entries, []);
});

test('replies show the live state while a block that was frozen does not change', async () => {
  const it = await open();
  await it.add('old');
  const frozen = await it.memory.block();
  const reply = await it.add('new');
  assert.deepEqual(reply.entries, ['old', 'new']);
  assert.notEqual((await it.memory.block()).version, frozen.version);
});

test('files over their limit by hand are whole in the block, told in the status, and can shrink', async () => {
  const it = await open({ limits: { memory: 30, user: 30 } });
  it.write(`- ${'x'.repeat(40)}\n- ${'y'.repeat(40)}\n`);
  const block = await it.memory.block();
  assert.ok(block.text.includes(`- ${'x'.repeat(40)}\n- ${'y'.repeat(40)}\n`));
  assert.deepEqual(block.files.memory, { used: 81, limit: 30, entries: 2 });
  const { state, message } = (await it.memory.status()).memory;
  assert.equal(state, 'over-limit');
  assert.match(message ?? '', /^51 characters/);
  await assert.rejects(it.call({ action: 'add', text: 'z' }), refusal('memory-full'));
  const { note } = await it.call({ action: 'remove', old: 'x' });
  assert.match(note ?? '', /10 characters over its limit/);
});

test('a hand edit that breaks the rule is kept, harmless in the block, and told in the status', async () => {
  const it = await open();
  it.write('- fine\n- rtl \u202egnp.exe\n- \u200b\n');
  assert.ok((await it.memory.block()).text.includes('- rtl \\u202Egnp.exe\n- \\u200B\n'));
  const { state, breaches } = (await it.memory.status()).memory;
  assert.equal(state, 'breaches');
  assert.deepEqual(
    breaches?.map(({ entry, reason, codepoint, offset }) => [entry, reason, codepoint, offset]),
    [
      [1, 'bidi', 'U+202E', 4],
      [2, 'invisible', undefined, undefined],
    ],
  );
  await it.add('more');
  assert.ok(it.text().startsWith('- fine\n- rtl \u202egnp.exe\n- \u200b\n'));
});

test('a file with text and no entry is told in the status', async () => {
  const it = await open();
  it.write('Just words.\n');
  assert.equal((await it.memory.status()).memory.state, 'no-entries');
});

test('a file that is missing while its history holds entries is unreadable, for the block and every action', async () => {
  const it = await open();
  await it.add('precious');
  unlinkSync(it.path());
  const missing = refusal('memory-unreadable', { reason: 'missing', path: it.path() });
  await assert.rejects(it.memory.block(), missing);
  await assert.rejects(it.call({ action: 'view' }), missing);
  await assert.rejects(it.call({ action: 'add', text: 'x' }), missing);
  await assert.rejects(it.call({ action: 'undo' }), missing);
  assert.equal((await it.memory.status()).memory.state, 'memory-unreadable');
  it.write('');
  assert.deepEqual((await it.add('anew')).entries, ['anew'], 'an empty file says that it is meant');
});

test('a file that was emptied entry by entry may be missing', async () => {
  const it = await open();
  await it.add('a');
  await it.call({ action: 'remove', old: 'a' });
  unlinkSync(it.path());
  assert.deepEqual((await it.add('b')).entries, ['b']);
});

test('editors that move the old file away, or write a new one over it, are waited for', async () => {
  const it = await open();
  await it.add('one');
  renameSync(it.path(), it.path('memory.md~'));
  const reading = it.entries();
  writeFileSync(it.path('.memory.md.swp'), 'swap');
  writeFileSync(it.path(), '- one\n- by the editor\n');
  assert.deepEqual(await reading, ['one', 'by the editor']);
  writeFileSync(it.path('new'), '- one\n- renamed over\n');
  renameSync(it.path('new'), it.path());
  assert.deepEqual((await it.add('two')).entries, ['one', 'renamed over', 'two']);
  assert.equal(it.text('.memory.md.swp'), 'swap', 'a swap file is not ours');
});

test('the block of the same entries is the same bytes after unrelated changes, a restart and midnight', async () => {
  const at = home.freshDir();
  const it = await open({ at });
  await it.add('a', 'b\nc');
  await it.call({ action: 'add', file: 'user', text: 'u' });
  const { text, version } = await it.memory.block();
  for (const name of ['x', 'y', 'z']) {
    await it.add(name);
    await it.call({ action: name === 'y' ? 'undo' : 'remove', ...(name === 'y' ? {} : { old: name }) });
    await it.call({ action: 'view', file: 'user' });
    assert.equal((await it.memory.block()).text, text);
  }
  await it.stop();
  const clock = new TestClock();
  clock.ms += 86_400_000;
  const after = await open({ at, dir: it.dir, clock });
  assert.deepEqual(
    [(await after.memory.block()).text, (await after.memory.block()).version],
    [text, version],
  );
});

test('reviewed writes of a model wait for the person, and say so', async () => {
  const it = await open({ review: true });
  await it.call({ action: 'add', text: 'by the person' }, 'ops');
  const asked = await it.call({ action: 'add', text: 'by the model', origin: { session: 's', turn: 1 } });
  assert.deepEqual([asked.entries, asked.changed], [['by the person'], []]);
  assert.match(asked.note ?? '', /waits for the person to approve/);
  await it.call({ action: 'add', text: 'also' });
  const [first = assert.fail(), second = assert.fail()] = await it.memory.pending();
  assert.deepEqual([first.file, first.params['text']], ['memory', 'by the model']);
  assert.equal((await it.memory.status()).memory.pending, 2);

  const decide = (id: string, approve: boolean) =>
    it.memory.decide({ id, approve }, { role: 'ops', method: 'memory/decide' });
  assert.deepEqual(await decide(second.id, false), { decided: 'rejected' });
  const { reply } = await decide(first.id, true);
  assert.deepEqual(reply?.entries, ['by the person', 'by the model']);
  assert.deepEqual(await it.memory.pending(), []);
  await assert.rejects(decide(first.id, true), /no pending write/);
  const { changes } = await it.memory.log({ file: 'memory', limit: 1 });
  assert.deepEqual([changes[0]?.by, changes[0]?.origin], ['loop', { session: 's', turn: 1 }]);
});

test('a reviewed write is refused at once where it could not be done', async () => {
  const it = await open({ review: true });
  await assert.rejects(it.call({ action: 'remove', old: 'nothing' }), refusal('memory-no-match'));
  await assert.rejects(it.call({ action: 'add', text: 'a\u0007' }), refusal('memory-refused'));
  await it.call({ action: 'add', text: 'a' }, 'ops');
  const same = await it.call({ action: 'add', text: 'a' });
  assert.match(same.note ?? '', /an entry already/);
  assert.deepEqual(await it.memory.pending(), []);
});

test('an undo that waited is refused when another change came in between', async () => {
  const it = await open({ review: true });
  await it.call({ action: 'add', text: 'a' }, 'ops');
  await it.call({ action: 'undo' });
  await it.call({ action: 'add', text: 'b' }, 'ops');
  const [waiting = assert.fail()] = await it.memory.pending();
  await assert.rejects(
    it.memory.decide({ id: waiting.id, approve: true }, { role: 'ops', method: 'memory/decide' }),
    refusal('memory-changed', { entries: ['a', 'b'] }),
  );
  assert.equal((await it.memory.pending()).length, 1);
});

test('a credential is refused from a model and taken from the person, by tool and by hand', async () => {
  const it = await open();
  const secret = ['aws key AKIA', 'QRSTUVWX2345ABCD'].join('');
  await assert.rejects(
    it.call({ action: 'add', text: secret }),
    refusal('memory-refused', { kind: 'aws-key-id' }),
  );
  await assert.rejects(it.call({ action: 'add', text: secret }, 'gate'), refusal('memory-refused'));
  assert.deepEqual((await it.call({ action: 'add', text: secret }, 'ops')).entries, [secret]);
  it.write(`${it.text()}- ${secret} again\n`);
  assert.equal((await it.add('more')).entries.length, 3);
});

test('what is forgotten leaves the file, its history and what waits', async () => {
  const it = await open({ review: true });
  await it.call({ action: 'add', text: 'Ann lives in Oslo' }, 'ops');
  await it.call({ action: 'add', text: 'likes tea', reason: 'OSLO came up' }, 'ops');
  await it.call({ action: 'replace', old: 'Ann', text: 'Ann lives in oslo now' }, 'ops');
  await it.call({ action: 'add', text: 'flies to Oslo' });
  const dry = await it.memory.forgetMatching((text) => /oslo/i.test(text), { dryRun: true });
  assert.deepEqual(dry[0], { file: 'memory', entries: 1, changes: 3 });
  assert.ok(it.text().includes('oslo'));

  assert.deepEqual(
    (await it.memory.forgetMatching((text) => /oslo/i.test(text), { dryRun: false }))[0],
    dry[0],
  );
  assert.equal(it.text(), '- likes tea\n');
  const stored: string[] = [];
  for await (const page of it.store.range({})) for (const entry of page) stored.push(JSON.stringify(entry));
  assert.ok(!stored.some((json) => /oslo/i.test(json)));
  assert.deepEqual((await it.add('works on')).entries, ['likes tea'], 'it waits for review');
  const undone = await it.call({ action: 'undo' }, 'ops');
  assert.ok(!undone.entries.some((entry) => /oslo/i.test(entry)), 'no undo brings it back');
});

test('what a session wrote is forgotten with it', async () => {
  const it = await open();
  const origin = { session: 's1', turn: 1 };
  await it.add('from elsewhere');
  await it.call({ action: 'add', text: 'from s1', origin, reason: 'why' });
  const [memory] = await it.memory.forgetSession('s1', { dryRun: false });
  assert.deepEqual(memory, { file: 'memory', entries: 1, changes: 1 });
  assert.deepEqual(await it.entries(), ['from elsewhere']);
  const { changes } = await it.memory.log({ file: 'memory' });
  assert.ok(!JSON.stringify(changes).includes('s1'));
});

/**
 * Goal: whatever happens to the files, the folder, the store or the process, the error has its name, the file is one
 * whole version, what was acknowledged is in it, and the next write works when the fault ends. Method: real faults
 * where they can be had without a mount; a store whose commits call back for what must hit one moment.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  unlinkSync,
} from 'node:fs';
import test from 'node:test';
import { AppError, type ErrorCode } from '../../../shared/errors.ts';
import type { MemoryParams } from '../../../shared/protocol/memoryd.ts';
import type { RecordOperation, RecordStore } from '../store/record-store.ts';
import { RequestLedger } from '../store/requests.ts';
import { TestHome } from '../store/test-home.ts';
import { CuratedFixture, limits, refusal } from './curated-fixture.ts';
import { CuratedMemory } from './curated-memory.ts';
import { readOnce, replaceWith } from './disk-file.ts';
import { loadExchange, type Exchange } from './exchange.ts';
import type { CuratedStore } from './history.ts';

const home = new TestHome();
const open = async (options = {}) => await CuratedFixture.open(home, options);

/** The store of a fixture, with something that happens once, after the next commit of a change or instead of it. */
class HookedStore implements CuratedStore {
  readonly #store: RecordStore;
  after: (() => void) | undefined;
  /** Every request of the store is answered with this code. */
  down: ErrorCode | undefined;

  constructor(store: RecordStore) {
    this.#store = store;
  }

  get(key: string) {
    return this.#up().get(key);
  }

  range(range: Parameters<RecordStore['range']>[0]) {
    return this.#up().range(range);
  }

  nextSequence() {
    return this.#up().nextSequence();
  }

  async commit(operations: readonly RecordOperation[], options?: { sync?: boolean }) {
    await this.#up().commit(operations, options);
    const after = operations.some(({ key, type }) => type === 'put' && key.startsWith('mh/')) && this.after;
    if (!after) return;
    this.after = undefined;
    after();
  }

  #up(): RecordStore {
    if (this.down) throw new AppError(this.down, 'as the test wants it');
    return this.#store;
  }
}

/** A memory on the files and the store of a fixture, as a process that starts now would have it. */
async function over(it: CuratedFixture, store: CuratedStore = it.store) {
  const memory = await CuratedMemory.open({
    dir: it.dir,
    store,
    requests: new RequestLedger(it.store, Date.now),
    limits,
    review: false,
    nowMs: Date.now,
  });
  const call = (params: MemoryParams) =>
    memory.apply({ file: 'memory', ...params }, { role: 'loop', method: 'memory' });
  return { memory, call };
}

const killed = () => {
  throw new AppError('store-write-failed', 'killed here', { details: { outcome: 'unknown' } });
};

const actionsOf = async (memory: CuratedMemory) =>
  (await memory.log({ file: 'memory' })).changes.map(({ by, action }) => `${by} ${action}`);

for (const [name, spoil, mend, reason] of [
  ['without read bits', (it) => chmodSync(it.path(), 0), (it) => chmodSync(it.path(), 0o600), 'EACCES'],
  [
    'in a folder that may not be entered',
    (it) => chmodSync(it.dir, 0),
    (it) => chmodSync(it.dir, 0o700),
    'EACCES',
  ],
  [
    'with a folder in its place',
    (it) => {
      renameSync(it.path(), it.path('aside'));
      mkdirSync(it.path());
    },
    (it) => {
      rmdirSync(it.path());
      renameSync(it.path('aside'), it.path());
    },
    'EISDIR',
  ],
  [
    'with a pipe in its place',
    (it) => {
      renameSync(it.path(), it.path('aside'));
      execFileSync('mkfifo', [it.path()]);
    },
    (it) => renameSync(it.path('aside'), it.path()),
    'not-a-file',
  ],
  [
    'with a link to nowhere in its place',
    (it) => {
      renameSync(it.path(), it.path('aside'));
      symlinkSync('nowhere', it.path());
    },
    (it) => renameSync(it.path('aside'), it.path()),
    'ENOENT',
  ],
] as const satisfies [string, (it: CuratedFixture) => void, (it: CuratedFixture) => void, string][]) {
  test(`a file ${name} is unreadable and never an empty one, and is itself again when that ends`, async () => {
    const it = await open();
    await it.add('precious');
    spoil(it);
    const unreadable = refusal('memory-unreadable', { path: it.path(), reason });
    await assert.rejects(it.memory.block(), unreadable);
    for (const action of ['view', 'add', 'undo'] as const)
      await assert.rejects(it.call({ action, text: 'x' }), unreadable);
    const { state, reason: told } = (await it.memory.status()).memory;
    assert.deepEqual([state, told], ['memory-unreadable', reason]);
    mend(it);
    assert.equal(it.text(), '- precious\n');
    assert.deepEqual((await it.add('more')).entries, ['precious', 'more']);
  });
}

test('bytes that are not UTF-8 are told with their offset, and the file is left alone', async () => {
  const it = await open();
  const bytes = Buffer.concat([Buffer.from('- one\n- caf'), Buffer.from([0xe9]), Buffer.from('\n')]);
  it.write(bytes);
  const unreadable = refusal('memory-unreadable', { reason: 'not-utf8', offset: 11, path: it.path() });
  await assert.rejects(it.memory.block(), unreadable);
  await assert.rejects(it.call({ action: 'add', text: 'x' }), unreadable);
  assert.equal(it.text(), bytes.toString());
  it.write('- one\n- café\n');
  assert.deepEqual((await it.add('two')).entries, ['one', 'café', 'two']);
});

test('a file far too large is told with its size', async () => {
  const it = await open();
  it.write(Buffer.alloc(5 * 1024 * 1024, 'x'));
  await assert.rejects(
    it.memory.block(),
    refusal('memory-unreadable', { reason: 'too-large', bytes: 5 * 1024 * 1024 }),
  );
});

for (const [name, bits] of [
  ['file', (it: CuratedFixture, mode: number) => chmodSync(it.path(), mode & 0o666)],
  ['folder', (it: CuratedFixture, mode: number) => chmodSync(it.dir, mode)],
] as const) {
  test(`a ${name} without write bits is read, and writes to it are unwritable until it has them`, async () => {
    const it = await open();
    await it.add('one');
    bits(it, 0o500);
    await assert.rejects(it.add('two'), refusal('memory-unwritable', { path: it.path(), reason: 'EACCES' }));
    assert.deepEqual(await it.entries(), ['one']);
    assert.ok((await it.memory.block()).text.includes('- one'));
    bits(it, 0o700);
    assert.equal(it.text(), '- one\n');
    assert.deepEqual((await it.add('two')).entries, ['one', 'two']);
    assert.deepEqual(await actionsOf(it.memory), ['loop add', 'loop add']);
  });
}

test('a file that is a link is replaced where it leads', async () => {
  const it = await open();
  renameSync(it.path(), it.path('elsewhere.md'));
  it.write('- one\n', 'elsewhere.md');
  symlinkSync('elsewhere.md', it.path());
  await it.add('two');
  assert.equal(readlinkSync(it.path()), 'elsewhere.md');
  assert.equal(it.text('elsewhere.md'), '- one\n- two\n');
});

test('what a killed process left beside the file is swept, and nothing else', async () => {
  const it = await open();
  await it.add('one');
  for (const name of [
    '.memory.md.abc123.tmp',
    '.user.md.0.tmp',
    '.memory.md.swp',
    'notes.tmp',
    '.memory.md.x',
  ])
    it.write('left', name);
  await over(it);
  assert.deepEqual(readdirSync(it.dir).toSorted(), [
    '.memory.md.swp',
    '.memory.md.x',
    'memory.md',
    'notes.tmp',
    'user.md',
  ]);
});

for (const request of [
  { action: 'add', text: 'new' },
  { action: 'replace', old: 'b', text: 'B' },
  { action: 'remove', old: 'a' },
  { action: 'undo' },
  {
    operations: [
      { action: 'add', text: 'new' },
      { action: 'remove', old: 'a' },
    ],
  },
] as MemoryParams[]) {
  test(`a kill between history and file is made good by the next start: ${request.action ?? 'operations'}`, async () => {
    const it = await open();
    await it.add('a', 'b');
    const store = new HookedStore(it.store);
    const dying = await over(it, store);
    store.after = killed;
    await assert.rejects(dying.call({ ...request, request_id: 'r' }), refusal('store-write-failed'));
    assert.equal(it.text(), '- a\n- b\n');

    const next = await over(it);
    const { entries } = await next.call({ action: 'view' });
    assert.notDeepEqual(entries, ['a', 'b'], 'it is in the file before anything is asked');
    const again = await next.call({ ...request, request_id: 'r' });
    assert.deepEqual(again.entries, entries);
    assert.deepEqual(await next.call({ action: 'view' }), { ...again, changed: [] });
    assert.equal((await actionsOf(next.memory)).length, 3);
  });
}

test('the very first change is made good too, though there is no file yet', async () => {
  const it = await open();
  unlinkSync(it.path());
  const store = new HookedStore(it.store);
  const dying = await over(it, store);
  unlinkSync(it.path());
  store.after = killed;
  await assert.rejects(dying.call({ action: 'add', text: 'first' }), refusal('store-write-failed'));
  const next = await over(it);
  assert.deepEqual((await next.call({ action: 'view' })).entries, ['first']);
});

test('the same process makes it good as well, before its next change', async () => {
  const it = await open();
  await it.add('a');
  const store = new HookedStore(it.store);
  const { call } = await over(it, store);
  store.after = killed;
  await assert.rejects(call({ action: 'add', text: 'b' }), refusal('store-write-failed'));
  assert.deepEqual((await call({ action: 'add', text: 'c' })).entries, ['a', 'b', 'c']);
});

test('a change that was cut off is brought in beside what people wrote since', async () => {
  const it = await open();
  await it.add('a', 'b');
  const store = new HookedStore(it.store);
  const dying = await over(it, store);
  store.after = killed;
  await assert.rejects(dying.call({ action: 'replace', old: 'b', text: 'B' }), refusal('store-write-failed'));
  it.write('- a, by hand\n- b\n- c\n');
  const next = await over(it);
  assert.deepEqual((await next.call({ action: 'view' })).entries, ['a, by hand', 'B', 'c']);
});

test('what people took back after a change was done stays taken back, also after a kill', async () => {
  const it = await open();
  await it.add('a', 'b');
  await it.memory.settled();
  it.write('- a\n');
  const next = await over(it);
  assert.deepEqual((await next.call({ action: 'view' })).entries, ['a']);
  assert.equal(it.text(), '- a\n');
});

test('an edit in the moment before the file is replaced is merged, and the history tells no more than happened', async () => {
  const it = await open();
  await it.add('a', 'b');
  const store = new HookedStore(it.store);
  const { memory, call } = await over(it, store);
  store.after = () => it.write('- a\n- b\n- by hand\n');
  const reply = await call({ action: 'add', text: 'c', request_id: 'r' });
  assert.deepEqual(reply.entries, ['a', 'b', 'by hand', 'c']);
  assert.equal(it.text(), '- a\n- b\n- by hand\n- c\n');
  assert.deepEqual(await actionsOf(memory), ['loop add', 'hand edit', 'loop add', 'loop add']);
  assert.deepEqual(await call({ action: 'add', text: 'c', request_id: 'r' }), reply);
});

test('an edit in that moment which makes the change impossible leaves a refusal and no trace of the change', async () => {
  const it = await open();
  await it.add('a', 'b');
  const store = new HookedStore(it.store);
  const { memory, call } = await over(it, store);
  store.after = () => it.write('- a\n');
  const request = { action: 'replace', old: 'b', text: 'B', request_id: 'r' } as const;
  await assert.rejects(call(request), refusal('memory-no-match'));
  assert.equal(it.text(), '- a\n');
  assert.deepEqual(await actionsOf(memory), ['hand edit', 'loop add', 'loop add']);
  await assert.rejects(call(request), refusal('memory-no-match'), 'a refusal is not remembered');
});

test('a file that becomes a folder in that moment is told, and the history does not claim the change', async () => {
  const it = await open();
  await it.add('a');
  const store = new HookedStore(it.store);
  const { memory, call } = await over(it, store);
  store.after = () => {
    unlinkSync(it.path());
    mkdirSync(it.path());
  };
  await assert.rejects(
    call({ action: 'add', text: 'b' }),
    refusal('memory-unreadable', { reason: 'EISDIR' }),
  );
  rmSync(it.path(), { recursive: true });
  it.write('- a\n');
  assert.deepEqual(await actionsOf(memory), ['loop add']);
  assert.deepEqual((await call({ action: 'add', text: 'b' })).entries, ['a', 'b']);
});

test('with the record store damaged, block and view still answer, and writes are store-damaged', async () => {
  const it = await open();
  await it.add('a');
  const store = new HookedStore(it.store);
  store.down = 'store-damaged';
  const { memory, call } = await over(it, store);
  it.write('- a\n- by hand\n');
  assert.ok((await memory.block()).text.includes('- a\n- by hand\n'));
  assert.deepEqual((await call({ action: 'view' })).entries, ['a', 'by hand']);
  for (const action of ['add', 'undo', 'remove'] as const)
    await assert.rejects(call({ action, text: 'a' }), refusal('store-damaged'));
  assert.equal((await memory.status()).memory.state, 'ok');
  assert.equal(it.text(), '- a\n- by hand\n');
  unlinkSync(it.path());
  await assert.rejects(memory.block(), refusal('memory-unreadable', { reason: 'missing' }));
  it.write('- a\n- by hand\n');
  store.down = undefined;
  assert.deepEqual((await call({ action: 'add', text: 'b' })).entries, ['a', 'by hand', 'b']);
});

test('a damaged record of the history does not hide the others', async () => {
  const it = await open();
  await it.add('a', 'b', 'c');
  const { changes } = await it.memory.log({ file: 'memory' });
  const damaged = `mh/memory/${String(changes[1]?.seq).padStart(20, '0')}`;
  const store = new HookedStore(it.store);
  const range = store.range.bind(store);
  store.range = async function* (asked) {
    for await (const page of range(asked))
      yield page.map((entry) => (entry.key === damaged ? { key: entry.key, damaged: true as const } : entry));
  };
  const { memory, call } = await over(it, store);
  assert.deepEqual(await actionsOf(memory), ['loop add', 'hand damaged', 'loop add']);
  assert.deepEqual((await call({ action: 'undo' })).entries, ['a', 'b']);
  assert.equal((await memory.show({ file: 'memory' })).entries.length, 2);
});

test('a file of an export comes back whole, once, also where it is missing while the history holds entries', async () => {
  const it = await open();
  await it.add('a', 'b');
  unlinkSync(it.path());
  const text = '# Mine\n\n- a\n- b\n';
  assert.equal(await it.memory.restore('memory', text), true);
  assert.equal(it.text(), text);
  assert.equal(await it.memory.restore('memory', text), false);
  assert.equal(await it.memory.restore('memory', '- b\n- c\n'), true);
  assert.equal(it.text(), `${text}- c\n`);
  assert.deepEqual(await actionsOf(it.memory), ['ops import', 'loop add', 'loop add']);
  assert.deepEqual((await it.call({ action: 'undo' })).entries, ['a', 'b']);
});

test('the rule for entries holds for an import, but for what the history knows already', async () => {
  const it = await open();
  await assert.rejects(
    it.memory.restore('memory', '- fine\n- a\u202eb\n'),
    refusal('memory-refused', { reason: 'bidi', codepoint: 'U+202E', offset: 1, index: 1 }),
  );
  it.write('- fine\n- a\u202eb\n');
  await it.add('more');
  unlinkSync(it.path());
  assert.equal(await it.memory.restore('memory', '- fine\n- a\u202eb\n- more\n'), true);
  assert.equal((await it.entries()).length, 3);
});

test('what an editor saves in the very moment of the replacement is put back and merged, however it saves', async () => {
  const it = await open();
  const seen = async () => await readOnce(it.path());
  const ours = async () => {
    it.write('- ours\n', 'ours');
    return it.path('ours');
  };
  const exchange = await loadExchange();
  assert.ok(exchange);
  for (const save of [
    () => it.write('- theirs\n'),
    () => {
      it.write('- theirs\n', 'new');
      renameSync(it.path('new'), it.path());
    },
  ]) {
    it.write('- before\n');
    const saves = [save];
    const saving: Exchange = (left, right) => {
      saves.pop()?.();
      return exchange(left, right);
    };
    assert.equal(replaceWith(await ours(), await seen(), saving), false);
    assert.equal(it.text(), '- theirs\n');
    assert.equal(it.text('ours'), '- ours\n');
  }
  assert.equal(replaceWith(await ours(), await seen(), exchange), true);
  assert.equal(it.text(), '- ours\n');
});

test('where files cannot be exchanged they are renamed', async () => {
  const it = await open();
  it.write('- ours\n', 'ours');
  assert.equal(
    replaceWith(it.path('ours'), await readOnce(it.path()), () => false),
    true,
  );
  assert.equal(it.text(), '- ours\n');
  assert.equal(await loadExchange(() => Promise.reject(new Error('not installed'))), undefined);
});

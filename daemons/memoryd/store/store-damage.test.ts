/** Damage is found before anything is opened over it, and a store that was mended is used again. */
import assert from 'node:assert/strict';
import {
  copyFileSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { AppError } from '../../../shared/errors.ts';
import { copyLevel } from './check/sample-level.ts';
import type { RecordStore } from './record-store.ts';
import { SeededRandom } from './seeded-random.ts';
import { entriesOf, put, TestHome } from './test-home.ts';

const home = new TestHome();
const random = new SeededRandom();
const flipsEach = 8;
const records = 400;

/** Records in tables and in a log. */
async function filledStore(): Promise<string> {
  const dir = home.freshDir();
  for (let run = 0; run < 2; run += 1) {
    const store = await home.open(dir);
    for (let i = 0; i < records / 2; i += 1) {
      void store.commit([put(`k/${run}/${i}`, JSON.stringify(`text ${i} `.repeat(20)))]);
    }
    await store.flush();
    await store.close();
  }
  return dir;
}

/** The largest of them: a table may hold nothing but what the store says of itself. */
function pathOf(dir: string, pattern: RegExp): string {
  const paths = readdirSync(dir)
    .filter((name) => pattern.test(name))
    .map((name) => join(dir, name));
  return paths.toSorted((a, b) => statSync(b).size - statSync(a).size)[0]!;
}

/** Everything but LOCK, which nobody may read. */
function contentOf(dir: string): Record<string, string> {
  const names = readdirSync(dir).filter((name) => name !== 'LOCK');
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(dir, name), 'base64')]));
}

function flip(path: string, bit: number): void {
  const bytes = readFileSync(path);
  bytes[bit >> 3]! ^= 1 << (bit & 7);
  writeFileSync(path, bytes);
}

const bitOf = (path: string, unusedBytes = 0) => random.below((statSync(path).size - unusedBytes) * 8);
const isDamaged = (error: unknown) => error instanceof AppError && error.code === 'store-damaged';

async function assertRefused(store: RecordStore, hint: string): Promise<void> {
  assert.equal(store.state.kind, 'damaged', hint);
  assert.throws(() => store.get('k/0/0'), isDamaged);
  assert.throws(() => store.range({}), isDamaged);
  assert.throws(() => store.nextSequence(), isDamaged);
  await assert.rejects(store.commit([put('x')]), isDamaged);
  await assert.rejects(store.flush(), isDamaged);
}

test('one flipped bit in CURRENT, MANIFEST or a log is reported, and nothing is opened over it', async () => {
  const dir = await filledStore();
  for (const pattern of [/^CURRENT$/, /^MANIFEST/, /\.log$/]) {
    const path = pathOf(dir, pattern);
    const original = readFileSync(path);
    for (let i = 0; i < flipsEach; i += 1) {
      const bit = bitOf(path);
      flip(path, bit);
      const before = contentOf(dir);
      const store = await home.open(dir);
      await assertRefused(store, `${path}, bit ${bit}`);
      await store.close();
      assert.deepEqual(contentOf(dir), before);
      writeFileSync(path, original);
    }
  }
  assert.equal(Object.keys(await entriesOf(await home.open(dir))).length, records);
});

test('after a stop that was not clean, a flipped bit in a table is reported before anything is opened', async () => {
  const dir = await filledStore();
  const path = pathOf(dir, /\.ldb$/);
  const original = readFileSync(path);
  rmSync(`${dir}.clean`);
  for (let i = 0; i < flipsEach; i += 1) {
    const bit = bitOf(path, 48);
    flip(path, bit);
    const before = contentOf(dir);
    const store = await home.open(dir);
    await assertRefused(store, `${path}, bit ${bit}`);
    await store.close();
    assert.deepEqual(contentOf(dir), before);
    writeFileSync(path, original);
  }
});

test('after a clean stop, a flipped bit in a table is found beside the work, and the store is let go', async () => {
  const dir = await filledStore();
  const path = pathOf(dir, /\.ldb$/);
  flip(path, bitOf(path, 48));
  const store = await home.open(dir);
  // What recheck does first is to wait for the check of the tables; then it finds the same before it opens.
  assert.equal((await store.recheck()).kind, 'damaged');
  await assertRefused(store, path);
});

test('CURRENT missing loses nothing', async () => {
  const dir = await filledStore();
  const current = readFileSync(join(dir, 'CURRENT'));
  rmSync(join(dir, 'CURRENT'));
  const before = contentOf(dir);
  const store = await home.open(dir);
  await assertRefused(store, 'CURRENT');
  assert.deepEqual(contentOf(dir), before);

  writeFileSync(join(dir, 'CURRENT'), current);
  assert.deepEqual(await store.recheck(), { kind: 'ready' });
  assert.equal(Object.keys(await entriesOf(store)).length, records);
});

test('a log cut anywhere in what was acknowledged is a lost end, also after a crash', async () => {
  const dir = await filledStore();
  rmSync(`${dir}.clean`);
  const path = pathOf(dir, /\.log$/);
  const original = readFileSync(path);
  for (let i = 0; i < flipsEach; i += 1) {
    const length = random.below(original.length);
    truncateSync(path, length);
    const store = await home.open(dir);
    await assertRefused(store, `cut at ${length}`);
    await store.close();
    writeFileSync(path, original);
  }
});

test('a torn end that nobody was promised is cut off, and said', async () => {
  const dir = await filledStore();
  rmSync(`${dir}.clean`);
  const path = pathOf(dir, /\.log$/);
  // As a write that a crash stopped half way: a header that promises more than there is.
  writeFileSync(path, Buffer.concat([readFileSync(path), Buffer.from([1, 2, 3, 4, 200, 0, 1, 9, 9])]));
  const store = await home.open(dir);
  assert.deepEqual(store.state, { kind: 'ready' });
  assert.deepEqual(
    store.status().defects.map(({ bytes }) => bytes),
    [9],
  );
  assert.equal(Object.keys(await entriesOf(store)).length, records);
});

test('a copy without its high-water mark opens with what it holds', async () => {
  const dir = await filledStore();
  const restored = home.freshDir();
  copyLevel(dir, restored);
  const store = await home.open(restored);
  assert.deepEqual(store.state, { kind: 'ready' });
  assert.equal(Object.keys(await entriesOf(store)).length, records);
  assert.ok(store.nextSequence() > records);
});

test('a damaged store is checked again only when something about it has changed', async () => {
  const dir = await filledStore();
  const path = pathOf(dir, /\.log$/);
  const bit = bitOf(path);
  flip(path, bit);
  const looks: string[] = [];
  const log = { info() {}, warn() {}, error: (_: object, message: string) => void looks.push(message) };
  const store = await home.open(dir, { log });
  assert.equal(looks.length, 1);
  assert.equal((await store.recheck()).kind, 'damaged');
  assert.equal((await store.recheck()).kind, 'damaged');
  assert.equal(looks.length, 1);
  flip(path, bit);
  assert.deepEqual(await store.recheck(), { kind: 'ready' });
});

test('with durability "checkpoint" a power cut may take what nobody asked to be synced, and nothing else', async () => {
  const dir = home.freshDir();
  const store = await home.open(dir, { durable: 'checkpoint' });
  await store.commit([put('asked')], { sync: true });
  const synced = statSync(pathOf(dir, /\.log$/)).size;
  await store.commit([put('rides along', JSON.stringify('x'.repeat(500)))]);

  /** The disk as a power cut would leave it, with so many bytes of the log. */
  async function afterCut(bytes: number): Promise<RecordStore> {
    const cut = home.freshDir();
    copyLevel(dir, cut);
    for (const beside of ['.exists', '.mark']) copyFileSync(dir + beside, cut + beside);
    truncateSync(pathOf(cut, /\.log$/), bytes);
    return await home.open(cut, { durable: 'checkpoint' });
  }
  const kept = await afterCut(synced + 20);
  assert.deepEqual(kept.state, { kind: 'ready' });
  assert.deepEqual(Object.keys(await entriesOf(kept)), ['asked']);
  assert.deepEqual(
    kept.status().defects.map(({ bytes }) => bytes),
    [20],
  );
  assert.equal((await afterCut(synced - 1)).state.kind, 'damaged');
});

/** What is proven is recovered from a damaged store into a new one, and the damaged one stays as it was. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { AppError } from '../../../shared/errors.ts';
import { adoptStore } from './adopt-store.ts';
import { openLevel } from './level-engine.ts';
import { salvage } from './salvage.ts';
import { SeededRandom } from './seeded-random.ts';
import { entriesOf, put, TestHome } from './test-home.ts';

const home = new TestHome();
const random = new SeededRandom();
const records = 600;

async function filledStore(): Promise<{ dir: string; content: Record<string, string> }> {
  const dir = home.freshDir();
  for (let run = 0; run < 2; run += 1) {
    const store = await home.open(dir);
    for (let i = 0; i < records / 2; i += 1) {
      void store.commit([put(`k/${run}/${i}`, JSON.stringify(random.bytes(100).toString('hex')))]);
    }
    await store.flush();
    await store.close();
  }
  const store = await home.open(dir);
  const content = await entriesOf(store);
  await store.close();
  return { dir, content };
}

/** The largest of them: a table may hold nothing but what the store says of itself. */
function pathOf(dir: string, pattern: RegExp): string {
  const paths = readdirSync(dir)
    .filter((name) => pattern.test(name))
    .map((name) => join(dir, name));
  return paths.toSorted((a, b) => statSync(b).size - statSync(a).size)[0]!;
}
const stateOf = (dir: string) =>
  readdirSync(dir).map((name) => [name, statSync(join(dir, name)).mtimeMs, statSync(join(dir, name)).size]);

test('with MANIFEST and CURRENT lost everything comes back', async () => {
  const { dir, content } = await filledStore();
  rmSync(join(dir, 'CURRENT'));
  rmSync(pathOf(dir, /^MANIFEST/));
  const before = stateOf(dir);
  const to = home.freshDir();
  const report = await salvage({ from: dir, to });
  assert.equal(report.recovered, records);
  assert.equal(report.damaged, 0);
  assert.equal(report.acknowledgedThrough, records);
  assert.ok(report.findings.length > 0);
  assert.deepEqual(stateOf(dir), before);
  assert.deepEqual(await entriesOf(await home.open(to)), content);
});

test('with flipped bits in a table everything else comes back, and nothing that is wrong', async () => {
  const { dir, content } = await filledStore();
  const path = pathOf(dir, /\.ldb$/);
  const bytes = readFileSync(path);
  for (let i = 0; i < 3; i += 1) bytes[random.below(bytes.length >> 1)]! ^= 1 << random.below(8);
  writeFileSync(path, bytes);
  const to = home.freshDir();
  const report = await salvage({ from: dir, to });
  const store = await home.open(to);
  const recovered = await entriesOf(store);
  assert.equal(Object.keys(recovered).length, report.recovered);
  assert.ok(report.recovered < records);
  assert.ok(report.recovered > records / 4);
  for (const [key, json] of Object.entries(recovered)) assert.equal(json, content[key]);
  assert.ok(store.nextSequence() > records);
});

test('a record that only looks whole is left out, and named', async () => {
  const { dir } = await filledStore();
  const engine = await openLevel({ dir, encoding: 'text', createIfMissing: false });
  await engine.write([{ type: 'put', key: 'k/0/7', value: `${engine.get('k/0/7')!}x` }], { sync: true });
  await engine.close();
  const report = await salvage({ from: dir, to: home.freshDir() });
  assert.equal(report.recovered, records - 1);
  assert.deepEqual(report.damagedKeys, ['k/0/7']);
});

test('a store that is in use is not salvaged, and nothing is overwritten', async () => {
  const { dir } = await filledStore();
  const to = home.freshDir();
  const store = await home.open(dir);
  const isLocked = (error: unknown) => error instanceof AppError && error.code === 'store-locked';
  await assert.rejects(salvage({ from: dir, to }), isLocked);
  assert.equal(existsSync(dirname(to)), false);
  await store.close();
  await salvage({ from: dir, to });
  await assert.rejects(
    salvage({ from: dir, to }),
    (error) => error instanceof AppError && error.code === 'rejected',
  );
  assert.deepEqual(
    readdirSync(dirname(to)).filter((name) => name.includes('copy')),
    [],
  );
});

test('a salvaged store goes on in the place of the damaged one, in the process that refused it', async () => {
  const { dir } = await filledStore();
  writeFileSync(pathOf(dir, /\.log$/), 'nothing of it is left');
  const store = await home.open(dir);
  assert.equal(store.state.kind, 'damaged');
  const to = `${dir}.salvaged`;
  const report = await salvage({ from: dir, to });
  renameSync(dir, `${dir}.damaged`);
  renameSync(to, dir);
  assert.equal((await store.recheck()).kind, 'damaged');
  await adoptStore(dir);
  assert.deepEqual(await store.recheck(), { kind: 'ready' });
  assert.equal(Object.keys(await entriesOf(store)).length, report.recovered);
  assert.ok(store.nextSequence() > records);
});

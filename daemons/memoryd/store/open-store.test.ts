/** What is found at the place of the store when it opens, and while it is open: newer, missing, foreign, older, taken away. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { AppError } from '../../../shared/errors.ts';
import { copyLevel } from './check/sample-level.ts';
import { seal } from './envelope.ts';
import { openLevel } from './level-engine.ts';
import { put, TestHome } from './test-home.ts';

const home = new TestHome();
const codeOf = (code: string) => (error: unknown) => error instanceof AppError && error.code === code;

test('a store of a newer format is refused untouched', async () => {
  const dir = home.freshDir();
  const store = await home.open(dir);
  await store.commit([put('a')]);
  await store.close();
  writeFileSync(`${dir}.exists`, '{"format":2}\n');
  const files = () => readdirSync(dir).map((name) => [name, statSync(join(dir, name)).mtimeMs]);
  const before = files();

  const newer = await home.open(dir);
  assert.deepEqual(newer.state, { kind: 'newer', format: 2 });
  assert.throws(() => newer.get('a'), codeOf('store-newer'));
  await assert.rejects(newer.commit([put('b')]), codeOf('store-newer'));
  await newer.close();
  assert.deepEqual(files(), before);
});

test('a store that says of itself that it is newer is refused, whatever lies beside it', async () => {
  const dir = home.freshDir();
  await (await home.open(dir)).close();
  const engine = await openLevel({ dir, encoding: 'text', createIfMissing: false });
  const value = seal('meta/format', { seq: 0, json: '{"format":9}' });
  await engine.write([{ type: 'put', key: 'meta/format', value }], { sync: true });
  await engine.close();
  assert.deepEqual((await home.open(dir)).state, { kind: 'newer', format: 9 });
});

test('a store that is missing where one was created is damage, and no new one is made', async () => {
  const dir = home.freshDir();
  const store = await home.open(dir);
  await store.commit([put('a', '1')]);
  await store.close();
  renameSync(dir, `${dir}.away`);

  const missing = await home.open(dir);
  assert.equal(missing.state.kind, 'damaged');
  assert.throws(() => missing.get('a'), codeOf('store-damaged'));
  await assert.rejects(
    missing.commit([put('b')]),
    (error) => codeOf('store-damaged')(error) && (error as AppError).details['outcome'] === 'not-stored',
  );
  assert.equal(existsSync(dir), false);

  renameSync(`${dir}.away`, dir);
  assert.deepEqual(await missing.recheck(), { kind: 'ready' });
  assert.equal(missing.get('a')?.json, '1');
});

test('a directory that is no store of ours is left alone', async () => {
  const dir = home.freshDir();
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'letter.txt'), 'dear');
  const store = await home.open(dir);
  assert.equal(store.state.kind, 'damaged');
  assert.deepEqual(readdirSync(dir), ['letter.txt']);
  assert.equal(existsSync(`${dir}.exists`), false);
});

test('a crash between making a store and its marker loses nothing', async () => {
  const dir = home.freshDir();
  const store = await home.open(dir);
  await store.commit([put('a', '1')]);
  await store.close();
  rmSync(`${dir}.exists`);
  assert.equal((await home.open(dir)).get('a')?.json, '1');
  assert.equal(existsSync(`${dir}.exists`), true);
});

test('an older copy in the place of the store is a lost end, counted', async () => {
  const dir = home.freshDir();
  const store = await home.open(dir);
  await store.commit([put('a', '1')]);
  await store.close();
  copyLevel(dir, `${dir}.old`);
  const later = await home.open(dir);
  for (let i = 0; i < 5; i += 1) await later.commit([put(`b${i}`)]);
  await later.close();
  rmSync(dir, { recursive: true });
  renameSync(`${dir}.old`, dir);

  const rolledBack = await home.open(dir);
  assert.equal(rolledBack.state.kind, 'damaged');
  assert.match(JSON.stringify(rolledBack.state), /the last 10 of \d+ acknowledged operations are missing/);
});

test('a directory taken away while the store is open is noticed before anything more is acknowledged', async () => {
  for (const take of [
    (dir: string) => renameSync(dir, `${dir}.moved`),
    (dir: string) => rmSync(dir, { recursive: true }),
  ]) {
    const dir = home.freshDir();
    const store = await home.open(dir);
    await store.commit([put('a')]);
    take(dir);
    await assert.rejects(
      store.commit([put('b')]),
      (error) => codeOf('store-damaged')(error) && (error as AppError).details['outcome'] === 'unknown',
    );
    await assert.rejects(
      store.commit([put('c')]),
      (error) => codeOf('store-damaged')(error) && (error as AppError).details['outcome'] === 'not-stored',
    );
    assert.equal(store.state.kind, 'damaged');
    await store.close();
    assert.equal(existsSync(dir), false);
  }
});

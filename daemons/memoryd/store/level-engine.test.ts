/** The engine on disk keeps every promise of an engine, and those about its directory and its lock. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { checkEngine } from './conformance.ts';
import { isLocked, openLevel } from './level-engine.ts';

const root = mkdtempSync(join(tmpdir(), 'level-engine-'));
after(() => rmSync(root, { recursive: true, force: true }));
let dirs = 0;
const freshDir = () => join(root, `db ${(dirs += 1)}`);

checkEngine<string>({
  name: 'level, text',
  open: () => openLevel({ dir: freshDir(), encoding: 'text', createIfMissing: true }),
  value: (text) => text,
  text: (value) => value,
});

checkEngine<Uint8Array>({
  name: 'level, binary',
  open: () => openLevel({ dir: freshDir(), encoding: 'binary', createIfMissing: true }),
  value: (text) => new TextEncoder().encode(text),
  text: (value) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(value),
});

test('what was written is there after closing and opening again', async () => {
  const dir = freshDir();
  const first = await openLevel({ dir, encoding: 'text', createIfMissing: true });
  await first.write([{ type: 'put', key: 'a', value: '1' }], { sync: false });
  await first.close();

  const second = await openLevel({ dir, encoding: 'text', createIfMissing: false });
  assert.equal(second.get('a'), '1');
  await second.close();
});

test('compacting takes what was overwritten or deleted off the disk, wherever LevelDB had put it', async () => {
  const dir = freshDir();
  const engine = await openLevel({ dir, encoding: 'text', createIfMissing: true });
  const put = (key: string, value: string) => engine.write([{ type: 'put', key, value }], { sync: false });
  for (let at = 0; at < 500; at += 1) await put(`x${at}`, `value ${at}`);
  await put('x250', 'xylophone');
  await put('x250', 'kept');
  await put('x251', 'xylophone');
  await engine.write([{ type: 'del', key: 'x251' }], { sync: true });

  await engine.compact({ start: 'x', end: 'x\u{10ffff}' });

  assert.deepEqual(
    readdirSync(dir).filter((name) => readFileSync(join(dir, name)).includes('xylophone')),
    [],
  );
  assert.equal(engine.get('x250'), 'kept');
  assert.equal(engine.get('x251'), undefined);
  await engine.close();
});

test('a directory that is missing is refused where it may not be created', async () => {
  const opening = openLevel({ dir: freshDir(), encoding: 'text', createIfMissing: false });
  await assert.rejects(opening, (error) => !isLocked(error));
});

test('a second open in one process is refused before it could drop the lock, by whatever path', async () => {
  const dir = freshDir();
  const link = freshDir();
  const engine = await openLevel({ dir, encoding: 'text', createIfMissing: true });
  symlinkSync(dir, link);
  for (const path of [dir, `${dir}/.`, link]) {
    await assert.rejects(openLevel({ dir: path, encoding: 'text', createIfMissing: true }), (error) =>
      isLocked(error),
    );
  }
  await engine.close();
  const again = await openLevel({ dir: link, encoding: 'text', createIfMissing: false });
  await again.close();
});

/** Goal: what is appended is found, once, and what is forgotten is not. Method: real LevelDB in a temporary folder, texts from a map. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Item, SessionFacts } from './item.ts';
import { RecallIndex } from './recall-index.ts';
import { ask, chat, MapTexts, session } from './testing.ts';

const root = await mkdtemp(join(tmpdir(), 'recall-'));
after(() => rm(root, { recursive: true, force: true }));

let folders = 0;
const newDir = () => join(root, String((folders += 1)));

async function opened(dir: string, texts: MapTexts): Promise<RecallIndex> {
  return RecallIndex.open({ dir, texts, nowMs: () => Date.UTC(2026, 10, 30), timeZone: 'UTC' });
}

async function put(index: RecallIndex, texts: MapTexts, facts: SessionFacts, items: Item[]): Promise<void> {
  texts.put(facts, items);
  await index.append(facts, items);
}

test('what was appended is found after the index is closed and opened again', async () => {
  const [dir, texts] = [newDir(), new MapTexts()];
  const before = await opened(dir, texts);
  await put(before, texts, session('a'), chat('the spare key is under the blue pot', 'noted'));
  await before.close();

  const index = await opened(dir, texts);
  const { hits } = await ask(index, 'where is the key');

  assert.equal(hits[0]?.text, 'the spare key is under the blue pot');
  await index.close();
});

test('the same record appended again is there once', async () => {
  const [dir, texts] = [newDir(), new MapTexts()];
  const index = await opened(dir, texts);
  const items = chat('a pear tree in the yard');
  await put(index, texts, session('a'), items);
  await put(index, texts, session('a'), items);

  const { hits } = await ask(index, 'pear');

  assert.equal(hits.length, 1);
  await index.close();
});

test('a forgotten session is found no more, and its words leave the disk', async () => {
  const [dir, texts] = [newDir(), new MapTexts()];
  const index = await opened(dir, texts);
  await put(index, texts, session('a'), chat('the zanzibar plan'));
  await put(index, texts, session('b'), chat('the lisbon plan'));

  const records = await index.forget(session('a'));
  const { hits } = await ask(index, 'plan');

  assert.equal(records, 1);
  assert.deepEqual(
    hits.map(({ session }) => session),
    ['b'],
  );
  await index.close();
});

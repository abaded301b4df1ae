import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { unfinishedSessions } from './unfinished.ts';

async function foundIn(t: TestContext, logs: Record<string, string[]>): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'unfinished-'));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const [name, lines] of Object.entries(logs)) writeFileSync(join(folder, name), lines.join('\n'));
  const found: string[] = [];
  for await (const id of unfinishedSessions(folder)) found.push(id);
  return found.toSorted();
}
const of = (type: string, text = '') => JSON.stringify({ type, text });

test('a log whose last turn has no end is found, whatever stands at its end', async (t) => {
  const found = await foundIn(t, {
    'asked.jsonl': [of('session'), of('turn'), ''],
    'called.jsonl': [of('session'), of('turn'), of('assistant'), of('call'), ''],
    'titled.jsonl': [of('session'), of('turn'), of('title'), ''],
    'torn.jsonl': [of('session'), of('turn'), '{"type":"assist'],
    'no-newline.jsonl': [of('session'), of('turn')],
    'large.jsonl': [of('session'), of('turn', 'x'.repeat(300_000)), of('title'), ''],
  });

  assert.deepEqual(found, ['asked', 'called', 'large', 'no-newline', 'titled', 'torn']);
});

test('a log that is over, new, unreadable or none is not', async (t) => {
  const found = await foundIn(t, {
    'over.jsonl': [of('session'), of('turn'), of('end'), of('title'), ''],
    'new.jsonl': [of('session'), ''],
    'empty.jsonl': [''],
    'noise.jsonl': ['\0\0\0', ''],
    '-bad id.jsonl': [of('session'), of('turn'), ''],
    'other.txt': [of('turn'), ''],
  });

  assert.deepEqual(found, []);
});

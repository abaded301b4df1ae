/** A log of more than 512 MiB, which is more than one string holds: it opens, with bounded memory, and takes records. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { scriptedBaseline } from '../testing/scripted-turn.ts';
import { Session } from './session.ts';
import type { DatedBody } from './session-log.ts';

const turns = 2700;
const turnCharacters = 200_000;
const growthBytesMax = 400 * 1024 * 1024;

function* records(): Generator<DatedBody> {
  yield { body: { type: 'session', id: 's1', origin: 'person', model: 'test', baseline: scriptedBaseline } };
  const text = 'x'.repeat(turnCharacters);
  for (let turn = 1; turn <= turns; turn += 1) {
    yield { body: { type: 'turn', turn, text } };
    yield { body: { type: 'end', turn, outcome: 'cancelled' } };
  }
}

test('a log of more than 512 MiB opens with bounded memory and takes records', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'large-log-'));
  try {
    const path = join(folder, 's1.jsonl');
    const created = await Session.create(path, records());
    await created.close();
    assert.ok(created.log.bytes > 512 * 1024 * 1024);

    const before = process.memoryUsage().rss;
    const session = await Session.open(path);
    assert.ok(process.memoryUsage().rss - before < growthBytesMax);
    assert.equal((await session.accept({ text: 'one more' })).turn, turns + 1);
    assert.equal(session.history.records.length > 0 && session.history.droppedTurns > 0, true);
    await session.close();
  } finally {
    await rm(folder, { recursive: true });
  }
});

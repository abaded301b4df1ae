/** What holds after every restart whoever wrote: files are their histories, the index is its rebuild, every record reads. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from '../../../daemons/memoryd/curated/file-format.ts';
import { curatedFiles, type StatusReply, type VerifyReply } from '../../../shared/protocol/replies.ts';
import type { View } from './actor.ts';

const pauseMs = 5;
const pausesMax = 6_000;

/** Waits until everything on the disk can be found. */
export async function caughtUp({ ops }: View): Promise<StatusReply> {
  for (let pauses = 0; pauses < pausesMax; pauses += 1) {
    const status = (await ops.call('status', {})) as unknown as StatusReply;
    if (status.index.state === 'ok' && status.index.behind === 0) return status;
    await sleep(pauseMs);
  }
  throw new Error('the index is never up with the logs');
}

export async function proveState(view: View): Promise<void> {
  const status = await caughtUp(view);
  assert.equal(status.state, 'ready');
  assert.deepEqual(status.sessions.missing, []);
  await provePlainFiles(view);
  const verified = (await view.ops.call('verify', {})) as unknown as VerifyReply;
  assert.deepEqual(verified.damaged, []);
  assert.deepEqual(verified.index, { equal: true, differences: [] });
}

/** Each file parses, and is what its history says when it is told from its beginning. */
async function provePlainFiles(view: View): Promise<void> {
  for (const file of curatedFiles) {
    const { entries } = (await view.ops.call('memory', { action: 'view', file })) as {
      entries: readonly string[];
    };
    const path = join(view.home.memory, `${file}.md`);
    assert.deepEqual(parse(readFileSync(path)).entries, entries, `${file}.md and what memoryd says of it`);
    const told = new Map<string, number>();
    const count = (text: string | null, more: number) => {
      if (text !== null) told.set(text, (told.get(text) ?? 0) + more);
    };
    for (const { changed } of await view.changes(file)) {
      for (const { before, after } of changed) {
        count(before, -1);
        count(after, 1);
      }
    }
    const there = [...told].flatMap(([text, times]) => Array.from<string>({ length: times }).fill(text));
    assert.deepEqual(there.toSorted(), [...entries].toSorted(), `${file}.md and its history`);
  }
}

/**
 * A process that writes through the record store is killed again and again, at random moments. Every
 * acknowledged record is there, none twice, no batch half, and no sequence number was given out again.
 * SOAK=1 for the long run.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { RecordStore } from './record-store.ts';
import { SeededRandom } from './seeded-random.ts';

const cycles = process.env['SOAK'] === '1' ? 200 : 60;
const killAfterMsMax = 300;
const writer = fileURLToPath(new URL('crash-writer.ts', import.meta.url));

const root = mkdtempSync(join(tmpdir(), 'crash-'));
after(() => rmSync(root, { recursive: true, force: true }));

interface Ack {
  readonly batch: string;
  readonly seqs: readonly number[];
  readonly counted: number;
}

/** One life of the writer. @returns what it said was acknowledged */
async function live(dir: string, random: SeededRandom): Promise<Ack[]> {
  const args = ['--import', 'tsx', writer, dir, String(random.below(2 ** 31))];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit', 'pipe'] });
  const acks: Ack[] = [];
  const lines = createInterface(child.stdio[3] as Readable);
  lines.on('line', (line) => {
    // The last line may be cut: then nobody was told.
    if (!line.endsWith('}')) return;
    const said = JSON.parse(line) as Partial<Ack> & { opened?: boolean; failed?: unknown };
    assert.equal(said.failed, undefined, JSON.stringify(said.failed));
    if (said.opened === true) setTimeout(() => child.kill('SIGKILL'), random.below(killAfterMsMax));
    if (said.batch !== undefined) acks.push(said as Ack);
  });
  const [[status, signal]] = await Promise.all([once(child, 'exit'), once(lines, 'close')]);
  assert.equal(signal, 'SIGKILL', `it ended by itself, with status ${String(status)}`);
  return acks;
}

interface Found {
  readonly seqs: Set<number>;
  readonly sizes: Map<string, { found: number; size: number }>;
}

async function contentOf(store: RecordStore): Promise<Found> {
  const seqs = new Set<number>();
  const sizes: Found['sizes'] = new Map();
  for await (const page of store.range({ gte: 'ep/', lt: 'ep0' })) {
    for (const entry of page) {
      assert.ok(!('damaged' in entry), entry.key);
      assert.equal(seqs.has(entry.seq), false, `sequence number ${entry.seq} twice`);
      seqs.add(entry.seq);
      const { batch, size } = JSON.parse(entry.json) as { batch: string; size: number };
      sizes.set(batch, { size, found: (sizes.get(batch)?.found ?? 0) + 1 });
    }
  }
  return { seqs, sizes };
}

test(`${cycles} kills lose nothing that was acknowledged`, async (t) => {
  const dir = join(root, 'store', 'records');
  const random = new SeededRandom();
  const acknowledged = new Map<string, Ack>();
  let counted = 0;
  let seqMax = 0;
  for (let cycle = 0; cycle < cycles; cycle += 1) {
    const acks = await live(dir, random);
    for (const ack of acks) {
      acknowledged.set(ack.batch, ack);
      counted = Math.max(counted, ack.counted);
      for (const seq of ack.seqs) assert.ok(seq > seqMax, `cycle ${cycle}: ${seq} was given out before`);
    }

    const store = await RecordStore.open({ dir, durable: 'all', minFreeBytes: 0, reserveBytes: 0 });
    assert.deepEqual(store.state, { kind: 'ready' }, `cycle ${cycle}`);
    const { seqs, sizes } = await contentOf(store);
    for (const ack of acknowledged.values()) {
      for (const seq of ack.seqs) assert.ok(seqs.has(seq), `cycle ${cycle}: record ${seq} is lost`);
      assert.equal(sizes.get(ack.batch)?.found, ack.seqs.length);
    }
    for (const [batch, { found, size }] of sizes)
      assert.equal(found, size, `cycle ${cycle}: half of ${batch}`);
    assert.ok(Number(store.get('counter')?.json ?? 0) >= counted, `cycle ${cycle}: an older value came back`);
    for (const seq of seqs) seqMax = Math.max(seqMax, seq);
    assert.ok(store.nextSequence() > seqMax);
    await store.close();
  }
  t.diagnostic(`${acknowledged.size} acknowledged commits, ${seqMax} records`);
  assert.ok(acknowledged.size > cycles);
});

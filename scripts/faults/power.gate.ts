/**
 * Goal: with every record durable, a power cut at any moment takes nothing that was acknowledged.
 * Method: memoryd under a recorder of its file operations and of what it answers; from the recording, disks as a cut
 * may leave them, and a memoryd on each. SEED=… repeats it, SOAK=1 is the long run.
 */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { parse } from '../../daemons/memoryd/curated/file-format.ts';
import { SeededRandom } from '../../daemons/memoryd/store/seeded-random.ts';
import { homeOf } from '../../shared/home.ts';
import type { StatusReply } from '../../shared/protocol/replies.ts';
import { View } from './testing/actor.ts';
import { buildRecorder, readOperations, skipRecorder, type DiskOperation } from './testing/disk-recorder.ts';
import { filler } from './testing/filler.ts';
import { LineClient } from './testing/line-client.ts';
import { Recording } from './testing/power-state.ts';
import { Victim } from './testing/victim.ts';

const states = process.env['SOAK'] === '1' ? 500 : 50;
const lives = 3;
const writesOfLife = 60;
const lanes = 2;
const config = '[memory]\nmemory_chars_max = 50000\n[store]\nballast_mib = 0\n';

const random = new SeededRandom();
const root = mkdtempSync(join(tmpdir(), 'lk-'));
after(() => rmSync(root, { recursive: true, force: true, maxRetries: 3 }));

/** What a request asked for, by the id under which its answer is recorded. */
type Asked =
  { readonly tag: string } | { readonly place: string; readonly value: number } | { readonly entry: string };

interface Workload {
  readonly asked: Map<string, Asked>;
}

/** Writes of every sort on three connections; the ids of all requests differ. */
async function work(home: string, life: number, { asked }: Workload): Promise<void> {
  const { loop } = homeOf({ home }).memorySockets;
  const lane = async (name: number) => {
    const client = await LineClient.open(loop);
    assert.ok(client);
    client.startIdsAt((life * lanes * 4 + name) * 100_000);
    for (let at = 0; at < writesOfLife; at += 1) {
      const tag = `${life}.${name}.${at}`;
      const text = filler(random);
      const choice = random.below(4);
      if (choice === 0) {
        const entry = `entry ${tag}`;
        asked.set(String(client.nextId), { entry });
        await client.call('memory', { action: 'add', file: 'memory', text: entry });
      } else if (choice === 1) {
        const place = `run ${name}`;
        const value = life * 1000 + at;
        asked.set(String(client.nextId), { place, value });
        const times = { started_ms: 1, updated_ms: value };
        const record = {
          run_id: place,
          iteration: 1,
          completed_nodes: [],
          tokens_used: 0,
          cost_usd: 0,
          ...times,
        };
        await client.call('record/put', { kind: 'checkpoint', record: { ...record, last_signature: text } });
      } else {
        asked.set(String(client.nextId), { tag });
        const record = {
          run_id: 'r',
          iteration: 1,
          kind: 'run_started',
          detail: tag,
          node_id: text,
          created_ms: 1,
        };
        await client.call('record/put', { kind: 'ledger', record });
      }
    }
    client.destroy();
  };
  await Promise.all([lane(0), lane(1), lane(2)]);
}

async function record(): Promise<{ operations: DiskOperation[]; asked: Map<string, Asked>; home: string }> {
  const home = join(root, 'h');
  const log = join(root, 'operations');
  mkdirSync(home);
  const asked = new Map<string, Asked>();
  const operations: DiskOperation[] = [];
  for (let life = 0; life < lives; life += 1) {
    writeFileSync(join(home, 'memoryd.toml'), config);
    rmSync(log, { force: true });
    const env = { LD_PRELOAD: buildRecorder(root), DISK_DIR: `${home}/`, DISK_LOG: log };
    const victim = new Victim('memoryd', home, { env });
    assert.ok(await victim.ready, victim.output);
    await work(home, life, { asked });
    if (life % 2 === 0) assert.equal(await victim.stop(), 0, victim.output);
    else await victim.kill();
    const first = operations.at(-1)?.number ?? 0;
    for (const one of readOperations(log)) operations.push({ ...one, number: first + one.number });
  }
  return { operations, asked, home };
}

/** What was acknowledged by the operation `at`: only what left on the socket before counts. */
function acknowledgedBy(
  at: number,
  operations: readonly DiskOperation[],
  asked: Map<string, Asked>,
): Asked[] {
  return operations
    .filter(({ kind, number }) => kind === 'A' && number <= at)
    .flatMap(({ data }) => data.toString().split('\n').slice(0, -1))
    .flatMap((line) => asked.get(String((JSON.parse(line) as { id: number }).id)) ?? []);
}

async function check(home: string, acknowledged: readonly Asked[]): Promise<string> {
  const victim = new Victim('memoryd', home);
  try {
    assert.ok(await victim.ready, victim.output);
    const parts = homeOf({ home });
    const ops = await LineClient.open(parts.memorySockets.ops);
    assert.ok(ops);
    const { store } = (await ops.call('status', {})) as unknown as StatusReply;
    if (store.state !== 'ready') return `reported: ${JSON.stringify(store['reasons'])}`;
    const view = new View(ops, parts);
    const details = new Set((await view.records('ledger')).map(({ record }) => record['detail']));
    const checkpoints = new Map(
      (await view.records('checkpoint')).map(({ record }) => [
        record['run_id'],
        Number(record['updated_ms']),
      ]),
    );
    const viewed = await ops.call('memory', { action: 'view', file: 'memory' });
    const entries = new Set(viewed['entries'] as string[]);
    for (const one of acknowledged) {
      if ('tag' in one) assert.ok(details.has(one.tag), `record ${one.tag} is lost`);
      else if ('entry' in one) assert.ok(entries.has(one.entry), `${one.entry} is lost`);
      else assert.ok((checkpoints.get(one.place) ?? -1) >= one.value, `checkpoint ${one.value} is lost`);
    }
    if (entries.size > 0)
      assert.equal(parse(readFileSync(join(parts.memory, 'memory.md'))).entries.length, entries.size);
    ops.destroy();
    return 'whole';
  } finally {
    await victim.kill();
  }
}

test(`${states} power cuts take nothing that was acknowledged`, { skip: skipRecorder }, async () => {
  const { operations, asked, home } = await record();
  const recording = new Recording(operations, home);
  const last = operations.at(-1)?.number ?? 0;
  const outcomes: Record<string, number> = {};
  let promised = 0;
  const cuts = Array.from({ length: states }, (_, state) => ({ state, at: 1 + random.below(last) }));
  const lane = async () => {
    for (let cut = cuts.pop(); cut !== undefined; cut = cuts.pop()) {
      const target = join(root, `s${cut.state}`);
      const model = cut.state % 2 === 0 ? 'ordered' : 'strict';
      recording.lay(cut.at, { model, random, target });
      writeFileSync(join(target, 'memoryd.toml'), config);
      const acknowledged = acknowledgedBy(cut.at, operations, asked);
      promised += acknowledged.length;
      const outcome = await check(target, acknowledged).catch((cause: unknown) => {
        throw new Error(
          `SEED=${random.seed} state ${cut.state}, ${model}, cut after ${cut.at}: ${String(cause)}`,
          {
            cause,
          },
        );
      });
      outcomes[`${model} ${outcome}`] = (outcomes[`${model} ${outcome}`] ?? 0) + 1;
      rmSync(target, { recursive: true });
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  console.log(
    `figures: ${states} power cuts in ${last} operations, ${promised} promises kept ${JSON.stringify(outcomes)}`,
  );
  assert.ok(promised > states);
  assert.ok((outcomes['ordered whole'] ?? 0) >= states / 4, JSON.stringify(outcomes));
});

/**
 * Goal: when the disk or the clock fails under a running memoryd it says so by name, loses nothing that it acknowledged,
 * and works again by itself when the fault ends. Method: the recorder fails its file operations for a while, or moves its
 * wall clock. SEED=… repeats it.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { homeOf } from '../../shared/home.ts';
import { View } from './testing/actor.ts';
import { buildRecorder, skipRecorder } from './testing/disk-recorder.ts';
import { LineClient, type Answer } from './testing/line-client.ts';
import { Victim } from './testing/victim.ts';

/** By the number that the kernel has for each; W write, S sync, C create, R rename, U remove, T truncate, M make folder. */
const faults = {
  'no space': [28, 'WCM'],
  'an I/O error': [5, 'WS'],
  'a read-only disk': [30, 'WCRUTM'],
  'no permission': [13, 'CRUM'],
  'no more files': [24, 'C'],
  'a sync that fails': [5, 'S'],
} as const;
const writesBefore = 20;
const writesDuring = 10;
const triesMax = 600;
const pauseMs = 25;

const root = mkdtempSync(join(tmpdir(), 'lk-'));
after(() => rmSync(root, { recursive: true, force: true, maxRetries: 3 }));

interface Device {
  readonly home: string;
  readonly victim: Victim;
  readonly ops: LineClient;
  readonly fault: string;
  readonly clock: string;
}

async function begin(name: string): Promise<Device> {
  const home = mkdtempSync(join(root, 'h'));
  writeFileSync(join(home, 'memoryd.toml'), '[store]\nballast_mib = 0\nfree_mib_min = 0\n');
  const fault = join(root, `${name}.fault`);
  const clock = join(root, `${name}.clock`);
  const env = {
    LD_PRELOAD: buildRecorder(root),
    DISK_DIR: `${home}/`,
    DISK_FAULT: fault,
    DISK_CLOCK: clock,
  };
  const victim = new Victim('memoryd', home, { env });
  assert.ok(await victim.ready, victim.output);
  const ops = await LineClient.open(homeOf({ home }).memorySockets.ops);
  assert.ok(ops);
  return { home, victim, ops, fault, clock };
}

const put = ({ ops }: Device, detail: string) =>
  ops.ask('record/put', {
    kind: 'ledger',
    record: { run_id: 'r', iteration: 1, kind: 'run_started', detail, created_ms: 1 },
  });
const add = ({ ops }: Device, text: string) => ops.ask('memory', { action: 'add', file: 'memory', text });

function codeOf(answer: Answer): string | undefined {
  assert.ok(!('isCut' in answer), 'it fell over');
  return 'error' in answer ? (answer.error.data?.['code'] as string) : undefined;
}

const named = new Set(['store-full', 'store-write-failed', 'memory-unwritable', 'memory-unreadable']);

/** Tried until it works again, as a client does whose request may be repeated. */
async function recovered(work: () => Promise<Answer>): Promise<void> {
  for (let tries = 0; tries < triesMax; tries += 1) {
    const code = codeOf(await work());
    if (code === undefined) return;
    assert.ok(named.has(code), code);
    await sleep(pauseMs);
  }
  assert.fail('it does not work again');
}

async function detailsOf({ ops, home }: Device): Promise<Set<unknown>> {
  const listed = await new View(ops, homeOf({ home })).records('ledger');
  return new Set(listed.map(({ record }) => record['detail']));
}

for (const [name, [errno, kinds]] of Object.entries(faults)) {
  test(`${name} is named, loses nothing, and passes`, { skip: skipRecorder }, async () => {
    const device = await begin(name.replaceAll(/\W/g, ''));
    const acknowledged: string[] = [];
    const codes = new Set<string>();
    const tell = async (detail: string) => {
      const code = codeOf(await put(device, detail));
      if (code === undefined) acknowledged.push(detail);
      else codes.add(code);
    };
    for (let at = 0; at < writesBefore; at += 1) await tell(`before ${at}`);
    assert.equal(codes.size, 0);
    writeFileSync(device.fault, `${errno} ${kinds}`);
    for (let at = 0; at < writesDuring; at += 1) await tell(`during ${at}`);
    const code = codeOf(await add(device, 'during'));
    if (code !== undefined) codes.add(code);
    for (const one of codes) assert.ok(named.has(one), one);
    // What is there can be read all the while.
    for (const one of acknowledged) assert.ok((await detailsOf(device)).has(one), one);
    rmSync(device.fault);
    await recovered(() => put(device, 'after'));
    await recovered(() => add(device, 'entry after'));
    acknowledged.push('after');
    await device.victim.kill();

    const victim = new Victim('memoryd', device.home);
    assert.ok(await victim.ready, victim.output);
    const ops = await LineClient.open(homeOf({ home: device.home }).memorySockets.ops);
    assert.ok(ops);
    const details = await detailsOf({ ...device, ops });
    for (const one of acknowledged) assert.ok(details.has(one), `${one} is lost`);
    const { entries } = (await ops.call('memory', { action: 'view', file: 'memory' })) as {
      entries: string[];
    };
    assert.ok(entries.includes('entry after'));
    ops.destroy();
    assert.equal(await victim.stop(), 0);
    console.log(
      `figures: ${name}: ${[...codes].join(', ') || 'nothing that mattered'}; ${acknowledged.length} kept`,
    );
  });
}

test(
  'a wall clock that steps back or far ahead changes no order and refuses nothing',
  { skip: skipRecorder },
  async () => {
    const device = await begin('clock');
    const asked: string[] = [];
    for (const [step, seconds] of [0, -3_600, -630_000_000, 946_000_000, 0].entries()) {
      writeFileSync(device.clock, String(seconds));
      for (let at = 0; at < 5; at += 1) {
        asked.push(`${step} ${at}`);
        assert.equal(codeOf(await put(device, `${step} ${at}`)), undefined);
      }
      assert.equal(codeOf(await add(device, `entry ${step}`)), undefined);
    }
    assert.deepEqual([...(await detailsOf(device))], asked);
    device.ops.destroy();
    assert.equal(await device.victim.stop(), 0, device.victim.output);
  },
);

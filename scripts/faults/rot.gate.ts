/**
 * Goal: whatever rots on the disk, memoryd answers right or says so with a code; it never lies, never leaves a gap
 * unsaid, and never falls over. Method: a home with known answers, a copy of it with one file damaged, the same questions.
 * SEED=… repeats it, SOAK=1 is the long run.
 */
import assert from 'node:assert/strict';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { SeededRandom } from '../../daemons/memoryd/store/seeded-random.ts';
import { homeOf } from '../../shared/home.ts';
import type { StatusReply } from '../../shared/protocol/replies.ts';
import { LineClient, type Answer } from './testing/line-client.ts';
import { Victim } from './testing/victim.ts';

const isSoak = process.env['SOAK'] === '1';
/** Of each kind of file, each sort of damage so often. */
const times = isSoak ? 20 : 1;
const lanes = 2;
const records = 120;
const pausesMax = 400;
const pauseMs = 25;

const random = new SeededRandom();
const root = mkdtempSync(join(tmpdir(), 'lk-'));
after(() => rmSync(root, { recursive: true, force: true, maxRetries: 3 }));
const original = join(root, 'o');

/** Where nothing of a person lies; what it says is never believed without a proof. */
const kindOf = (path: string) => path.replaceAll(/\d+/g, 'N');
const damages: Readonly<Record<string, (bytes: Buffer) => Buffer | undefined>> = {
  flipped: (bytes) => {
    const bent = Buffer.from(bytes);
    const at = random.below(Math.max(1, bent.length));
    bent[at] = (bent[at] ?? 0) ^ (1 << random.below(8));
    return bent;
  },
  truncated: (bytes) => bytes.subarray(0, random.below(Math.max(1, bytes.length))),
  zeroed: (bytes) => {
    const bent = Buffer.from(bytes);
    const at = random.below(Math.max(1, bent.length));
    return bent.fill(0, at, Math.min(bent.length, at + 512));
  },
  deleted: () => undefined,
};

const record = (at: number) => ({
  run_id: `r${at % 3}`,
  iteration: 1,
  node_id: `n${at}`,
  role: 'b',
  provider_id: 'p',
  prompt_digest: '',
  output: `kettle${at} ${'boiled and poured '.repeat(20)}`,
  created_ms: at,
});
const questions: readonly { method: string; params: object }[] = [
  { method: 'record/list', params: { kind: 'episode', run_id: 'r0', limit: 1000 } },
  { method: 'record/list', params: { kind: 'episode', run_id: 'r1', limit: 1000 } },
  { method: 'record/get', params: { kind: 'scratchpad', run_id: 'r', key: 'k' } },
  { method: 'block', params: {} },
  { method: 'recall', params: { query: 'kettle7', limit: 5, window: 0 } },
  { method: 'recall', params: { query: 'spoon11', limit: 5, window: 0 } },
];

async function begun(home: string): Promise<{ victim: Victim; ops: LineClient }> {
  const victim = new Victim('memoryd', home);
  assert.ok(await victim.ready, victim.output);
  const ops = await LineClient.open(homeOf({ home }).memorySockets.ops);
  assert.ok(ops);
  return { victim, ops };
}

async function makeOriginal(): Promise<void> {
  const { sessions } = homeOf({ home: original });
  mkdirSync(sessions, { recursive: true });
  const baseline = { system: '', tools: [], version: '', tokens: 0 };
  const at = '2026-11-30T00:00:00.000Z';
  const lines: object[] = [
    { v: 1, seq: 0, at, type: 'session', id: 's', origin: 'person', model: '', baseline },
  ];
  for (let turn = 0; turn < 40; turn += 1)
    lines.push({ v: 1, seq: turn + 1, at, type: 'turn', turn, text: `spoon${turn} lies in drawer ${turn}` });
  writeFileSync(join(sessions, 's.jsonl'), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  writeFileSync(join(original, 'memoryd.toml'), '[store]\nballast_mib = 0\n');
  // Two lives, so that there are tables as well as a log.
  for (let life = 0; life < 2; life += 1) {
    const { victim, ops } = await begun(original);
    for (let n = 0; n < records / 2; n += 1)
      await ops.call('record/put', { kind: 'episode', record: record(life * (records / 2) + n) });
    await ops.call('record/put', {
      kind: 'scratchpad',
      record: { run_id: 'r', key: 'k', value: `life ${life}` },
    });
    await ops.call('memory', { action: 'add', file: 'memory', text: `fact ${life} about kettles` });
    await ops.call('memory', { action: 'add', file: 'user', text: `likes tea ${life}` });
    await settled(ops);
    if (life === 0) assert.equal(await victim.stop(), 0);
    else await victim.kill();
  }
}

/** The status once nothing is being caught up with or rebuilt any more. */
async function settled(ops: LineClient): Promise<StatusReply> {
  for (let pauses = 0; ; pauses += 1) {
    const status = (await ops.call('status', {})) as unknown as StatusReply;
    const isUp = status.index.state === 'ok' && status.index.behind === 0;
    if (isUp || status.store.state !== 'ready' || pauses > pausesMax) return status;
    await sleep(pauseMs);
  }
}

function codeOf(answer: Answer): string | undefined {
  return 'error' in answer ? ((answer.error.data?.['code'] as string | undefined) ?? 'no code') : undefined;
}

/** What an answer itself says of what it leaves out. */
function saidIn(answer: Answer): string | undefined {
  const { damaged, note, index } = ('result' in answer ? answer.result : {}) as {
    damaged?: string[];
    note?: string;
    index?: { state: string };
  };
  if (damaged !== undefined) return 'store-damaged';
  if (note?.includes('cannot be read') === true) return 'a note of what is left out';
  return index !== undefined && index.state !== 'ok' ? `index ${index.state}` : undefined;
}

/** What differs from the right answer, if anything; scores move when the index is built anew. */
function gist(answer: Answer): string {
  if (!('result' in answer)) return '';
  const {
    hits,
    records: listed,
    record: one,
    text,
  } = answer.result as {
    hits?: { text: string }[];
    records?: object[];
    record?: object;
    text?: string;
  };
  return JSON.stringify([hits?.map((hit) => hit.text), listed, one, text]);
}

async function answers(home: string): Promise<{ answers: Answer[]; status: StatusReply; output: string }> {
  const { victim, ops } = await begun(home);
  try {
    const status = await settled(ops);
    const found: Answer[] = [];
    for (const { method, params } of questions) found.push(await ops.ask(method, params));
    return { answers: found, status, output: victim.output };
  } finally {
    ops.destroy();
    await victim.kill();
  }
}

/** @returns what became of it. @throws AssertionError where an answer is wrong and nobody says so */
function judge(path: string, right: readonly string[], found: Awaited<ReturnType<typeof answers>>): string {
  const codes = new Set<string>();
  for (const [at, answer] of found.answers.entries()) {
    assert.ok(!('isCut' in answer), 'it fell over');
    const code = codeOf(answer);
    const said = saidIn(answer);
    if (code !== undefined) codes.add(code);
    else if (said !== undefined) codes.add(said);
    else if (gist(answer) !== right[at]) {
      const wrong = `${questions[at]?.method} is wrong: ${JSON.stringify(answer).slice(0, 600)}`;
      // A log and a curated file have no checksum: what still reads is taken for what stands there, or told.
      assert.ok(/\.jsonl$|\.md$/.test(path), wrong);
      codes.add(path.endsWith('.md') ? 'an edit by hand' : 'the log as it is');
    }
  }
  if (codes.size > 0) return [...codes].toSorted((a, b) => (a < b ? -1 : 1)).join(' and ');
  return 'right';
}

test('damage of every kind of file is answered right or named', async () => {
  await makeOriginal();
  const target = (name: string) => join(root, name);
  cpSync(original, target('r'), { recursive: true, filter: (path) => !path.endsWith('.sock') });
  const right = (await answers(target('r'))).answers.map(gist);
  assert.ok(
    right.every((one) => one.length > 20),
    JSON.stringify(right).slice(0, 500),
  );

  const files = readdirSync(original, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.(sock|lock|toml|holder)$/.test(entry.name))
    .map((entry) => relative(original, join(entry.parentPath, entry.name)))
    .filter((path) => statSync(join(original, path)).size > 0 || path.endsWith('.clean'));
  const cases = files.flatMap((path) =>
    Object.keys(damages).flatMap((damage) => Array.from({ length: times }, () => ({ path, damage }))),
  );
  const tally: Record<string, number> = {};
  let count = 0;
  const lane = async () => {
    for (let one = cases.pop(); one !== undefined; one = cases.pop()) {
      const { path, damage } = one;
      const home = target(`c${(count += 1)}`);
      cpSync(original, home, { recursive: true, filter: (from) => !from.endsWith('.sock') });
      const bytes = damages[damage]?.(readFileSync(join(home, path)));
      if (bytes === undefined) rmSync(join(home, path));
      else writeFileSync(join(home, path), bytes);
      const outcome = await answers(home)
        .then((found) => judge(path, right, found))
        .catch((cause: unknown) => {
          throw new Error(`SEED=${random.seed} ${path} ${damage}: ${String(cause)}`, { cause });
        });
      const what = `${kindOf(path)} ${damage}: ${outcome}`;
      tally[what] = (tally[what] ?? 0) + 1;
      rmSync(home, { recursive: true, force: true });
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  const sums: Record<string, number> = {};
  for (const [what, number] of Object.entries(tally)) {
    const outcome = what.slice(what.indexOf(': ') + 2);
    sums[outcome] = (sums[outcome] ?? 0) + number;
  }
  console.log(`figures: ${count} damaged files ${JSON.stringify(sums)}`);
  if (isSoak) console.log(`figures: ${JSON.stringify(tally)}`);
  assert.ok(count >= 40);
  const reported = Object.entries(sums).filter(([outcome]) => outcome.includes('store-damaged'));
  assert.ok(reported.some(([, number]) => number > 5));
});

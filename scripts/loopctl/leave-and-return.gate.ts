/** Goal: whoever leaves takes everything along, and whoever comes back with it has the same memory, byte for byte. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createWriteStream, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { startDaemon, temporaryHome } from '../../shared/testing/start-daemon.ts';
import {
  fillCurated,
  filledRun,
  fillRecords,
  fillSessions,
  layLongLog,
  startBoth,
  type Daemons,
} from './testing/full-home.ts';
import { loopctl, runLoopctl } from './testing/run-loopctl.ts';

function homeFor(t: TestContext): string {
  const { home, remove } = temporaryHome();
  t.after(remove);
  return home;
}

async function bothFor(t: TestContext, home: string): Promise<Daemons> {
  const daemons = await startBoth(home);
  t.after(() => daemons.stop());
  return daemons;
}

const digestOf = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex');

interface Imported {
  stored: number;
  known: number;
  sessions: number;
  known_sessions: number;
}
const importInto = async (home: string, file: string) =>
  JSON.parse(await loopctl(home, ['import', file, '--json'])) as Imported;

test('everything comes back in an empty home with the same bytes, and again it is known', async (t) => {
  const first = homeFor(t);
  mkdirSync(join(first, 'sessions'), { recursive: true, mode: 0o700 });
  writeFileSync(join(first, 'memoryd.toml'), '[memory]\nreview = true\n');
  layLongLog(join(first, 'sessions'));
  const before = await bothFor(t, first);
  await fillRecords(before);
  await fillSessions(first);
  await fillCurated(before, first);
  const left = join(first, 'left.jsonl');
  await loopctl(first, ['export', left]);
  assert.equal(statSync(left).mode & 0o777, 0o600);
  for (const prefix of ['ck', 'ep', 'fg', 'gs', 'lg', 'mh', 'mp', 'pr', 'sp', 'st', 'su'])
    assert.match(readFileSync(left, 'utf8'), new RegExp(`^\\{"record":"${prefix}/`, 'm'), prefix);

  const second = homeFor(t);
  const after = await bothFor(t, second);
  const { sessions, known } = await importInto(second, left);
  assert.deepEqual([sessions, known], [2, 0]);
  const returned = join(second, 'returned.jsonl');
  await loopctl(second, ['export', returned]);
  assert.equal(digestOf(returned), digestOf(left));

  const again = await importInto(second, left);
  assert.deepEqual([again.stored, again.sessions, again.known_sessions], [0, 0, 2]);
  await loopctl(second, ['export', returned]);
  assert.equal(digestOf(returned), digestOf(left), 'importing twice changes nothing');

  const ops = after.memory();
  const goal = { kind: 'goal_state', run_id: filledRun, target: 'tests/green' } as const;
  const { record } = await ops.call('record/get', goal);
  assert.deepEqual([record?.['satisfied'], record?.['imported']], [true, true]);
  const { records } = await ops.call('record/list', { kind: 'goal_state', run_id: filledRun });
  assert.deepEqual(
    records.map(({ record: { target, imported } }) => [target, imported]),
    [
      ['open', undefined],
      ['tests/green', true],
    ],
  );
  assert.equal((await before.memory().call('record/get', goal)).record?.['imported'], undefined);
  const ruling = {
    target: 'tests/green',
    passed: 3,
    failed: 0,
    total: 3,
    reason: '',
    iteration: 3,
    updated_ms: 2,
  };
  await after.memory('gate').call('record/put', {
    kind: 'goal_state',
    run_id: filledRun,
    record: { ...ruling, satisfied: true },
  });
  assert.equal((await ops.call('record/get', goal)).record?.['imported'], undefined, 'ruled anew here');

  await ops.call('reindex', {});
  for (const query of ['ferry', 'tide table', 'lighthouse keeper'])
    assert.ok((await ops.call('recall', { query })).hits.length > 0, query);
  assert.equal((await ops.call('recall', { query: 'locker 4417' })).forgotten, 1);
  assert.equal((await ops.call('memory/pending', {})).pending.length, 2);
  const { changes } = await ops.call('memory/log', { file: 'memory' });
  assert.ok(changes.some(({ action }) => action === 'undo'));
});

test('an empty home leaves and returns too', async (t) => {
  const first = homeFor(t);
  const before = await bothFor(t, first);
  await loopctl(first, ['export', join(first, 'a.jsonl')]);
  await before.stop();
  const second = homeFor(t);
  await bothFor(t, second);
  assert.equal((await importInto(second, join(first, 'a.jsonl'))).sessions, 0);
  await loopctl(second, ['export', join(second, 'b.jsonl')]);
  assert.equal(digestOf(join(second, 'b.jsonl')), digestOf(join(first, 'a.jsonl')));
});

test('an export that was cut or altered is refused, and nothing of it is stored', async (t) => {
  const first = homeFor(t);
  const before = await bothFor(t, first);
  await before.memory().call('memory', { action: 'add', file: 'memory', text: 'The gate squeaks.' });
  await fillSessions(first);
  const left = join(first, 'left.jsonl');
  await loopctl(first, ['export', left]);
  await before.stop();
  const text = readFileSync(left, 'utf8');
  const lines = text.trimEnd().split('\n');
  const second = homeFor(t);
  await bothFor(t, second);
  const empty = join(second, 'empty.jsonl');
  await loopctl(second, ['export', empty]);
  const wrong = join(second, 'wrong.jsonl');
  for (const altered of [
    text.slice(0, text.length / 2),
    lines.slice(0, -1).join('\n'),
    text.replace('squeaks', 'sings'),
    [...lines.slice(0, 3), ...lines.slice(4)].join('\n'),
    `${text}${lines.at(-1)}\n`,
    text.replace('"format":1', '"format":2'),
  ]) {
    writeFileSync(wrong, altered);
    const { status, stderr } = await runLoopctl(second, ['import', wrong]);
    assert.equal(status, 65, stderr);
    await loopctl(second, ['export', wrong]);
    assert.equal(digestOf(wrong), digestOf(empty));
  }
});

const manyRecords = process.env['SOAK'] === undefined ? 100_000 : 1_000_000;
/** Less than the export is long. */
const heap = { NODE_OPTIONS: '--max-old-space-size=96' };

test('a large home goes out and in with a small heap', { timeout: 30 * 60_000 }, async (t) => {
  const home = homeFor(t);
  const made = join(home, 'made.jsonl');
  await writeManyRecords(made);
  assert.ok(statSync(made).size > 96 * 1024 * 1024);
  const daemons = [
    await startDaemon('memoryd', home, { env: heap }),
    await startDaemon('loopd', home, { env: heap }),
  ];
  t.after(() => Promise.all(daemons.map((daemon) => daemon.stop())));
  const reply = JSON.parse(await loopctl(home, ['import', made, '--json'], { env: heap })) as Imported;
  assert.equal(reply.stored, manyRecords);
  const returned = join(home, 'returned.jsonl');
  await loopctl(home, ['export', returned], { env: heap });
  const listed = readFileSync(returned, 'utf8').split('\n');
  assert.equal(listed.filter((line) => line.startsWith('{"record":')).length, manyRecords);
  const other = join(home, 'other.jsonl');
  await loopctl(home, ['export', other], { env: heap });
  assert.equal(digestOf(other), digestOf(returned), 'the same memory gives the same bytes');
});

async function writeManyRecords(file: string): Promise<void> {
  const out = createWriteStream(file);
  const digest = createHash('sha256');
  const write = async (line: string) => {
    digest.update(`${line}\n`);
    if (!out.write(`${line}\n`)) await new Promise<void>((resolve) => out.once('drain', () => resolve()));
  };
  await write('{"loopkeep":"export","format":1}');
  const detail = 'x'.repeat(900);
  for (let seq = 1; seq <= manyRecords; seq += 1) {
    const value = {
      run_id: 'big',
      iteration: 1,
      kind: 'node_succeeded',
      detail,
      node_id: null,
      tokens: null,
      cost_usd: null,
      created_ms: seq,
    };
    await write(JSON.stringify({ record: `lg/big/${String(seq).padStart(20, '0')}`, seq, value }));
  }
  const end = { records: manyRecords, files: 0, lines: 0, sha256: digest.digest('hex') };
  out.write(`${JSON.stringify({ end })}\n`);
  await new Promise<void>((resolve) => out.end(() => resolve()));
}

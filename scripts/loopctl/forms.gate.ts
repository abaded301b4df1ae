/**
 * Goal: what scripts rely on holds: the forms of the commands, their exit statuses, JSON everywhere, three lines an error.
 * Method: the real program as a child process beside one real memoryd.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { errorKinds, type ErrorCode } from '../../shared/errors.ts';
import {
  programCommand,
  startDaemon,
  temporaryHome,
  type RunningDaemon,
} from '../../shared/testing/start-daemon.ts';

const { home, remove } = temporaryHome();
let memoryd: RunningDaemon;
before(async () => {
  memoryd = await startDaemon('memoryd', home);
});
after(async () => {
  await memoryd.kill();
  remove();
});

interface Ended {
  readonly status: number | null;
  readonly out: string;
  readonly errors: string;
}

function run(program: string, args: readonly string[], input = ''): Promise<Ended> {
  const [node = process.execPath, ...rest] = programCommand(program);
  return new Promise((resolve) => {
    const child = spawn(node, [...rest, ...args], { stdio: 'pipe' });
    let [out, errors] = ['', ''];
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
    child.once('close', (status) => resolve({ status, out, errors }));
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
  });
}

const loopctl = (args: readonly string[], input = '') =>
  run('scripts/loopctl/main.ts', [...args, '--home', home], input);

async function works(args: readonly string[], input = ''): Promise<string> {
  const { status, out, errors } = await loopctl(args, input);
  assert.deepEqual([status, errors], [0, ''], args.join(' '));
  return out;
}

async function json(args: readonly string[], input = ''): Promise<Record<string, unknown>> {
  return JSON.parse(await works([...args, '--json'], input)) as Record<string, unknown>;
}

/** Three lines: what failed, the entry of the runbook, and how to read it. */
async function fails(code: ErrorCode, args: readonly string[], input = ''): Promise<void> {
  const { status, out, errors } = await loopctl(args, input);
  const lines = errors.split('\n');
  assert.equal(status, errorKinds[code].exit, errors);
  assert.equal(lines.length, 4, errors);
  assert.deepEqual(lines.slice(1), [`runbook: ${code}`, `  loopctl explain ${code}`, '']);
  assert.equal(out, '');
}

const note = { run_id: 'r', key: 'k', value: 'v' };

test('the forms that scripts rely on are accepted, and answer in JSON', async () => {
  assert.deepEqual((await json(['memory', 'add', '--file', 'memory', 'buy milk']))['entries'], ['buy milk']);
  assert.deepEqual((await json(['memory', 'add', '--file', 'user', 'likes tea']))['entries'], ['likes tea']);
  const filters = ['--since', '2026-01-01', '--until', '2026-12-31', '--limit', '3', '--session', 's'];
  assert.deepEqual((await json(['recall', 'milk', ...filters]))['hits'], []);
  assert.deepEqual(await json(['record', 'put', 'scratchpad'], JSON.stringify(note)), { key: 'sp/r/k' });
  const listed = [{ key: 'sp/r/k', record: note }];
  assert.deepEqual((await json(['record', 'list', 'scratchpad', 'r']))['records'], listed);
  assert.deepEqual((await json(['record', 'list', 'scratchpad']))['records'], listed);
  assert.match(await works(['explain', 'store-locked']), /^# store-locked\n/);
});

test('what is said of every command may stand before it too', async () => {
  const { status, out } = await run('scripts/loopctl/main.ts', ['--home', home, '--json', 'block']);
  assert.equal(status, 0);
  assert.match((JSON.parse(out) as { version: string }).version, /^[0-9a-f]{64}$/);
});

test('a query of several words needs no quotes', async () => {
  assert.deepEqual((await json(['recall', 'two', 'words']))['hits'], []);
});

test('metrics are OpenMetrics for a scraper, and JSON where that is asked', async () => {
  const plain = await loopctl(['metrics']);
  assert.match(plain.out, /^loopkeep_up\{daemon="memoryd"\} 1$/m);
  const { out } = await loopctl(['metrics', '--json']);
  const { metrics } = JSON.parse(out) as { metrics: { name: string; samples: unknown[] }[] };
  assert.deepEqual(metrics.find(({ name }) => name === 'loopkeep_up')?.samples, [
    { labels: { daemon: 'memoryd' }, value: 1 },
    { labels: { daemon: 'loopd' }, value: 0 },
  ]);
});

test('an export goes to standard output or to a file, the same bytes, and says where it cannot be made', async () => {
  const whole = await works(['export']);
  const file = join(home, 'export.jsonl');
  await works(['export', file]);
  assert.equal(readFileSync(file, 'utf8'), whole);
  const { status, errors } = await loopctl(['export', join(home, 'missing', 'export.jsonl')]);
  assert.equal(status, 73, errors);
  assert.equal(errors.split('\n').length, 4, errors);
});

test('a failure is three lines and the exit status of its code', async () => {
  await fails('memory-no-match', ['memory', 'remove', '--file', 'memory', 'zebra']);
  await fails('memory-full', ['memory', 'add', '--file', 'memory', 'x'.repeat(3000)]);
  await fails('rejected', ['record', 'put', 'scratchpad'], '{"run_id":""}');
  const met = { target: 't', satisfied: true, passed: 1, failed: 0, total: 1, reason: '', iteration: 1 };
  await fails(
    'not-permitted',
    ['record', 'put', 'goal_state', '--run', 'r'],
    JSON.stringify({ ...met, updated_ms: 1 }),
  );
  await fails('loop-unavailable', ['prompt', 'hello']);
});

test('wrong usage is 64, whatever is wrong', async () => {
  for (const [args, input] of [
    [['bogus']],
    [['recall', 'x', '--bogus']],
    [['recall', 'x', '--limit', '1000']],
    [['recall', 'x', '--since', 'yesterday']],
    [['memory', 'add', '--file', 'bogus', 'x']],
    [['record', 'put', 'bogus'], '{}'],
    [['record', 'put', 'scratchpad'], 'no json'],
    [['memory', 'consolidate', '--file', 'memory'], 'no json'],
    [['explain', 'no-such-code']],
  ] as [string[], string?][]) {
    assert.equal((await loopctl(args, input)).status, 64, args.join(' '));
  }
});

test('nothing is coloured where standard output is no terminal', async () => {
  for (const args of [['memory'], ['status'], ['recall', 'milk'], ['explain'], ['scores']])
    assert.ok(!(await loopctl(args)).out.includes('\u001b'), args.join(' '));
});

test('check names file and line of what is wrong and starts nothing', async () => {
  for (const name of ['memoryd', 'loopd']) {
    const file = join(home, `${name}.toml`);
    writeFileSync(file, '[log]\n\nbogus = 1\n');
    const wrong = await run(`daemons/${name}/main.ts`, ['check', '--home', home]);
    assert.equal(wrong.status, 78);
    assert.ok(wrong.errors.startsWith(`${name}: ${file}:3: unknown setting log.bogus\n`), wrong.errors);
    writeFileSync(file, '');
    assert.equal((await run(`daemons/${name}/main.ts`, ['check', '--home', home])).status, 0);
  }
});

test('a daemon that is down is 69, with what still works; a second one is 75', async () => {
  const second = await run('daemons/memoryd/main.ts', ['serve', '--home', home]);
  assert.equal(second.status, 75);
  await memoryd.stop();
  await fails('memory-unavailable', ['block']);
  assert.match(await works(['explain', 'store-damaged']), /^# store-damaged\n/);
});

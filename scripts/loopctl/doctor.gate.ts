/** Goal: the doctor finds each planted fault by its code and changes nothing; a bug report holds nothing of the person. */
import assert from 'node:assert/strict';
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { temporaryHome } from '../../shared/testing/start-daemon.ts';
import { fillCurated, fillSessions, startBoth } from './testing/full-home.ts';
import { loopctl, runLoopctl } from './testing/run-loopctl.ts';

function homeFor(t: TestContext): string {
  const { home, remove } = temporaryHome();
  t.after(remove);
  return home;
}

const namesIn = (home: string) => readdirSync(home, { recursive: true }).map(String).toSorted();

interface Report {
  ok: boolean;
  findings: { what: string; code?: string; text: string; mend?: string }[];
}

async function examined(home: string): Promise<{ status: number | null; report: Report; codes: string[] }> {
  const { status, stdout, stderr } = await runLoopctl(home, ['doctor', '--json']);
  assert.notEqual(stdout, '', stderr);
  const report = JSON.parse(stdout) as Report;
  const codes = report.findings.flatMap(({ what, code }) => (code === undefined ? [] : [`${what}: ${code}`]));
  return { status, report, codes };
}

test('a healthy home has no fault, and each fault that is planted is found by its code with what to do', async (t) => {
  const home = homeFor(t);
  const daemons = await startBoth(home);
  const { kept } = await fillSessions(home);
  const healthy = await examined(home);
  assert.deepEqual([healthy.status, healthy.codes], [0, []]);
  assert.ok(healthy.report.findings.length > 20);
  const text = await loopctl(home, ['doctor']);
  assert.match(text, /^ok {5}socket ops: answers, 0600 in 0700$/m);
  assert.match(text, /^doctor: ok$/m);

  chmodSync(join(home, 'memory'), 0o755);
  chmodSync(join(home, 'run/channel/loop.sock'), 0o666);
  writeFileSync(join(home, 'memory/user.md'), `- ${'long '.repeat(400)}\n`);
  writeFileSync(join(home, 'memory/memory.md'), Buffer.from([0x2d, 0x20, 0xff, 0x0a]));
  const log = join(home, 'sessions', `${kept}.jsonl`);
  writeFileSync(log, readFileSync(log, 'utf8').replace('{"v":1,"seq":2', '{"v":1,"seq":7'));
  writeFileSync(join(home, 'loopd.toml'), '[model]\nurl = "http://127.0.0.1:9"\n');
  const sick = await examined(home);
  assert.equal(sick.status, 1);
  assert.deepEqual(sick.codes, [
    'folder memory: config-invalid',
    'socket channel: not-permitted',
    'memory.md: memory-unreadable',
    'user.md: memory-full',
    `log ${kept}: session-damaged`,
    'model: model-unavailable',
  ]);
  assert.ok(sick.report.findings.every(({ code, mend }) => code === undefined || (mend ?? '') !== ''));
  const one = await runLoopctl(home, ['doctor', 'memory-full']);
  assert.equal(one.status, 1);
  assert.match(one.stdout, /^FAULT {2}memory-full {2}user\.md: /);
  assert.equal((await runLoopctl(home, ['doctor', 'store-damaged'])).status, 0);
  assert.equal((await runLoopctl(home, ['doctor', 'no-code'])).status, 64);

  await daemons.stop();
  writeFileSync(join(home, 'memoryd.toml'), '[store]\ndurable = "sometimes"\n');
  const records = join(home, 'store/records');
  const before = namesIn(home);
  for (const name of readdirSync(records).filter((name) => name.startsWith('MANIFEST-')))
    appendFileSync(join(records, name), 'garbage garbage garbage garbage');
  rmSync(join(records, 'CURRENT'));
  const { codes } = await examined(home);
  for (const code of [
    'settings memoryd: config-invalid',
    'socket ops: memory-unavailable',
    'socket channel: loop-unavailable',
    'store: store-damaged',
  ])
    assert.ok(codes.includes(code), `${code} in ${codes.join(', ')}`);
  const after = namesIn(home);
  assert.deepEqual(
    after,
    before.filter((name) => name !== 'store/records/CURRENT'),
    'nothing was changed',
  );
});

test('a bug report holds settings and states, and no secret, memory, session or path of the person', async (t) => {
  const home = homeFor(t);
  mkdirSync(join(home, 'anna-keys'), { recursive: true });
  writeFileSync(join(home, 'anna-keys/model.key'), 'sk-not-to-be-seen\n', { mode: 0o600 });
  // With the responder by rule: a model that cannot be reached would be waited for.
  const first = await startBoth(home);
  const { kept } = await fillSessions(home);
  await fillCurated(first, home);
  await first.stop();
  const token = `ghp_${'a1B2c3D4e5F6'.repeat(3)}`;
  writeFileSync(
    join(home, 'loopd.toml'),
    `[model]
url = "http://user:hunter2@127.0.0.1:9/?key=swordfish"
key_file = "${home}/anna-keys/model.key"
steps_max = 7
[mcp.servers.tides]
command = "/home/anna/bin/tides"
args = ["--token", "${token}"]
env = { TIDES_PASSWORD = "correct horse" }
`,
  );
  const daemons = await startBoth(home);
  t.after(() => daemons.stop());
  const file = join(home, 'report.json');
  await loopctl(home, ['bugreport', '--out', file]);
  const text = readFileSync(file, 'utf8');
  for (const secret of [
    token,
    'hunter2',
    'swordfish',
    'correct horse',
    'anna',
    home,
    'boiler',
    'Prefers',
    'ferry',
    'locker',
    kept,
  ])
    assert.ok(!text.includes(secret), `${secret} is in the report`);
  const report = JSON.parse(text) as {
    settings: { loopd: Record<string, unknown> };
    memoryd: { state: string };
    doctor: unknown[];
    versions: { node: string };
  };
  assert.equal(report.settings.loopd['model.steps_max'], 7);
  assert.equal(report.settings.loopd['model.key_file'], '<set>');
  assert.equal(report.settings.loopd['model.url'], 'http://127.0.0.1:9/');
  assert.equal(report.memoryd.state, 'ready');
  assert.ok(report.doctor.length > 20);
  assert.equal(`v${report.versions.node}`, process.version);
  assert.match(await loopctl(home, ['bugreport']), /"loopkeep": "bugreport"/);
});

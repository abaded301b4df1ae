/** Goal: a backup that was made while everything wrote comes back as one consistent memory, and nothing is ever the only copy. */
import assert from 'node:assert/strict';
import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { Client } from '../../shared/client.ts';
import { memorydProtocol } from '../../shared/protocol/memoryd.ts';
import { startDaemon, temporaryHome } from '../../shared/testing/start-daemon.ts';
import { fillCurated, fillSessions, startBoth, type Daemons } from './testing/full-home.ts';
import { loopctl, runLoopctl } from './testing/run-loopctl.ts';

function folderFor(t: TestContext): string {
  const { home, remove } = temporaryHome();
  t.after(remove);
  return home;
}

const writtenMany = process.env['SOAK'] === undefined ? 50_000 : 1_000_000;
const ledger = (iteration: number) => ({
  kind: 'ledger' as const,
  record: { run_id: 'busy', iteration, kind: 'node_succeeded', detail: `step ${iteration}`, created_ms: 1 },
});

/** Writes one after another on four connections, so that at any moment what is there has no gaps but the last few. */
async function write({ memory }: Daemons, count: number, onMiddle: () => void): Promise<void> {
  const client = memory('loop');
  let next = 0;
  const worker = async () => {
    while (next < count) {
      next += 1;
      if (next === 5000) onMiddle();
      await client.call('record/put', ledger(next));
    }
  };
  await Promise.all(Array.from({ length: 32 }, worker));
}

test('a backup made while records are written is consistent, and the home that it replaces is kept', async (t) => {
  const home = folderFor(t);
  const backups = join(folderFor(t), 'backups');
  const daemons = await startBoth(home);
  await fillSessions(home);
  await fillCurated(daemons, home);
  let writing = Promise.resolve();
  await new Promise<void>((onMiddle) => {
    writing = write(daemons, writtenMany, onMiddle);
  });
  const made = JSON.parse(await loopctl(home, ['backup', backups, '--json'])) as { records: number };
  await writing;
  const again = JSON.parse(await loopctl(home, ['backup', backups, '--json'])) as { records: number };
  assert.ok(made.records >= 4000 && again.records > made.records, 'it was made in the middle of the writing');
  const { backups: listed } = JSON.parse(await loopctl(home, ['backup', 'list', backups, '--json'])) as {
    backups: { name: string; records: number }[];
  };
  assert.deepEqual(
    listed.map(({ records }) => records),
    [made.records, again.records],
  );
  const [first] = listed;
  assert.match(await loopctl(home, ['backup', 'verify', backups, first?.name ?? '']), /backup verify: ok/);

  const running = await runLoopctl(home, ['restore', backups, first?.name ?? '', '--yes']);
  assert.equal(running.status, 75);
  assert.match(running.stderr, /memoryd \(process \d+\) and loopd \(process \d+\) run/);
  await daemons.stop();

  const dry = await loopctl(home, ['restore', backups, first?.name ?? '', '--dry-run']);
  assert.match(dry, /Nothing was changed/);
  assert.equal((await runLoopctl(home, ['restore', backups])).status, 64, 'nobody can be asked');
  const memory = readFileSync(join(home, 'memory/memory.md'), 'utf8');
  const [log = ''] = readdirSync(join(home, 'sessions')).filter((name) => name.endsWith('.jsonl'));
  const session = readFileSync(join(home, 'sessions', log), 'utf8');
  const { aside } = JSON.parse(
    await loopctl(home, ['restore', backups, first?.name ?? '', '--yes', '--json']),
  ) as { aside: string[] };
  assert.equal(aside.length, 3);
  assert.ok(aside.every((path) => existsSync(path) && path.includes('before-restore-')));

  const restored = await startBoth(home);
  t.after(() => restored.stop());
  assert.equal(readFileSync(join(home, 'memory/memory.md'), 'utf8'), memory);
  assert.equal(readFileSync(join(home, 'sessions', log), 'utf8'), session);
  assert.equal(statSync(join(home, 'sessions', log)).mode & 0o777, 0o600);
  const ops = restored.memory();
  const seen = new Set<number>();
  for (let cursor: string | undefined, more = true; more;) {
    const page = await ops.call('record/list', {
      kind: 'ledger',
      run_id: 'busy',
      limit: 1000,
      ...(cursor === undefined ? {} : { cursor }),
    });
    for (const { record } of page.records) seen.add(record['iteration'] as number);
    cursor = page.next;
    more = cursor !== undefined;
  }
  const last = Math.max(0, ...seen);
  assert.ok(
    last - seen.size <= 32,
    `${seen.size} records up to ${last}: none is missing but those under way`,
  );
  const { ok, damaged } = await ops.call('verify', {});
  assert.deepEqual([ok, damaged], [true, []]);
  assert.ok((await ops.call('recall', { query: 'ferry' })).hits.length > 0);
  const { seq = 0 } = await restored.memory('loop').call('record/put', ledger(0));
  assert.ok(seq > seen.size, 'numbers go on');
});

test('a backup that is not whole is named piece by piece and not restored; the home stays as it was', async (t) => {
  const home = folderFor(t);
  const backups = join(folderFor(t), 'backups');
  const daemons = await startBoth(home);
  await fillCurated(daemons, home);
  await loopctl(home, ['backup', backups]);
  const forgotten = await loopctl(home, ['forget', '--text', 'boiler', '--dry-run']);
  assert.ok(forgotten.includes(backups), 'forgetting names the backups');
  await daemons.stop();
  const objects = join(backups, 'objects');
  for (const name of readdirSync(objects)) appendFileSync(join(objects, name), ' ');
  const verdict = await runLoopctl(home, ['backup', 'verify', backups]);
  assert.equal(verdict.status, 65);
  assert.match(verdict.stdout, /^FAULT {2}records: the piece [0-9a-f]{64} is not what was written$/m);
  assert.match(verdict.stdout, /^FAULT {2}memory\.md: /m);
  const before = readdirSync(home).toSorted();
  assert.equal((await runLoopctl(home, ['restore', backups, '--yes'])).status, 65);
  assert.deepEqual(readdirSync(home).toSorted(), before);
  rmSync(objects, { recursive: true });
  assert.equal((await runLoopctl(home, ['backup', 'verify', backups])).status, 65);
  assert.equal((await runLoopctl(home, ['backup', 'list', join(home, 'none')])).status, 65);
});

test('what can be read of a damaged store takes its place, also under a memoryd that serves beside it', async (t) => {
  const home = folderFor(t);
  const first = await startDaemon('memoryd', home);
  const socket = join(home, 'run/ops-memory/memory.sock');
  const client = new Client(socket, memorydProtocol, { unavailable: 'memory-unavailable' });
  t.after(() => client.close());
  for (let at = 1; at <= 2000; at += 1) await client.call('record/put', ledger(at));
  await client.call('compact', {});
  await first.stop();
  assert.equal(
    (await runLoopctl(home, ['restore', '--salvage', '--yes'])).status,
    65,
    'a whole store is left alone',
  );

  const records = join(home, 'store/records');
  const [table = ''] = readdirSync(records).filter((name) => name.endsWith('.ldb'));
  const path = join(records, table);
  const bytes = readFileSync(path);
  bytes[Math.floor(bytes.length / 3)]! ^= 0xff;
  writeFileSync(path, bytes);
  rmSync(join(home, 'store/records.clean'), { force: true });
  truncateSync(join(records, 'CURRENT'), 3);
  const memoryd = await startDaemon('memoryd', home);
  t.after(() => memoryd.stop());
  assert.equal((await client.call('status', {})).store.state, 'damaged');

  const dry = await loopctl(home, ['restore', '--salvage', '--dry-run']);
  assert.match(dry, /The store is damaged:/);
  const report = await loopctl(home, ['restore', '--salvage', '--yes']);
  const [, recovered] = /recovered (\d+) records/.exec(report) ?? [];
  assert.ok(Number(recovered) > 1000, report);
  await memoryd.line(({ msg }) => msg === 'the record store is in use again');
  const { records: some } = await client.call('record/list', { kind: 'ledger', run_id: 'busy', limit: 10 });
  assert.equal(some.length, 10);
  const kept = readdirSync(join(home, 'store')).filter((name) => name.startsWith('records.damaged-'));
  assert.equal(kept.length, 1, 'the damaged store is kept');
});

/**
 * What memoryd spends, as the kernel counts it: processor time an operation and memory at rest, beside classic-level
 * used in process. It holds on a busy machine, where no wall time does. Usage: cost.ts [COUNT]
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClassicLevel } from 'classic-level';
import { Client } from '../../shared/client.ts';
import { homeOf } from '../../shared/home.ts';
import { memorydProtocol } from '../../shared/protocol/memoryd.ts';
import { startDaemon, temporaryHome } from '../../shared/testing/start-daemon.ts';
import { LinePipe } from './line-pipe.ts';
import { tableOf } from './table.ts';

process.env['LOOPKEEP_DIST'] ??= '1';
const count = Number(process.argv[2] ?? 40_000);
const pageLength = 1000;
const tickMs = 10;
/** Code is compiled in the first rounds. */
const warmRounds = 1;
const rounds = 3;

const entry = (at: number) => ({
  run_id: 'bench',
  iteration: at,
  kind: 'node_succeeded' as const,
  detail: `step ${at}: ${'what was done and why, in words '.repeat(10)}`,
  node_id: `node-${at % 7}`,
  created_ms: 1_790_000_000_000 + at,
});
const put = (at: number) =>
  `${JSON.stringify({ jsonrpc: '2.0', id: at, method: 'record/put', params: { kind: 'ledger', record: entry(at) } })}\n`;

/** User and system time of a process so far, all threads. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * tickMs;
}

function residentMib(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
}

function ownCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** The least of a few warm rounds: what else runs can only add. @returns µs an operation */
async function least(spent: () => number, operations: number, work: () => Promise<void>): Promise<number> {
  let lowest = Number.POSITIVE_INFINITY;
  for (let round = 0; round < warmRounds + rounds; round += 1) {
    const before = spent();
    await work();
    const us = ((spent() - before) * 1000) / operations;
    if (round >= warmRounds) lowest = Math.min(lowest, us);
  }
  return lowest;
}

async function listAll(client: Client<typeof memorydProtocol>): Promise<void> {
  const params = { kind: 'ledger', run_id: 'bench', limit: pageLength } as const;
  let page = await client.call('record/list', params);
  while (page.next !== undefined) page = await client.call('record/list', { ...params, cursor: page.next });
}

async function daemonCosts() {
  const { home, remove } = temporaryHome();
  writeFileSync(join(home, 'memoryd.toml'), '[store]\ndurable = "checkpoint"\n');
  const daemon = await startDaemon('memoryd', home);
  const start = cpuMs(daemon.pid);
  const rest = residentMib(daemon.pid);
  const socket = homeOf({ home }).memorySockets.loop;
  const pipe = await LinePipe.open(socket);
  const client = new Client(socket, memorydProtocol, { unavailable: 'memory-unavailable' });
  const spent = () => cpuMs(daemon.pid);
  try {
    const puts = await least(spent, count, async () => {
      await pipe.run(put, { count, inFlight: 64 });
    });
    const stored = count * (warmRounds + rounds);
    const list = await least(spent, stored, () => listAll(client));
    return { start, rest, puts, list };
  } finally {
    pipe.close();
    client.close();
    await daemon.stop();
    remove();
  }
}

async function directCosts() {
  const folder = mkdtempSync(join(tmpdir(), 'lk-cost-'));
  const db = new ClassicLevel(folder, { writeBufferSize: 16 * 1024 * 1024 });
  await db.open();
  let stored = 0;
  const puts = await least(ownCpuMs, count, async () => {
    for (const end = stored + count; stored < end;) {
      const batch = db.batch();
      for (let more = 0; more < 64 && stored < end; more += 1, stored += 1)
        batch.put(`lg/${String(stored).padStart(20, '0')}`, JSON.stringify(entry(stored)));
      await batch.write();
    }
  });
  let fields = 0;
  const list = await least(ownCpuMs, stored, async () => {
    for await (const value of db.values({ highWaterMarkBytes: 64 * 1024 }))
      fields += Object.keys(JSON.parse(value) as object).length;
  });
  if (fields === 0) throw new Error('the scan found nothing');
  await db.close();
  rmSync(folder, { recursive: true });
  return { puts, list };
}

/** Of a bare Node at rest, told by itself: time in ms, memory in MiB. */
function bareNode(): { start: number; rest: number } {
  const script =
    "const u = process.cpuUsage(); const m = require('node:fs').readFileSync('/proc/self/status', 'utf8'); console.log((u.user + u.system) / 1000, /VmRSS:\\s+(\\d+)/.exec(m)[1] / 1024)";
  const { stdout } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' });
  const [start = 0, rest = 0] = stdout.trim().split(' ').map(Number);
  return { start, rest };
}

const ours = await daemonCosts();
const direct = await directCosts();
const bare = bareNode();
const row = (what: string, mine: number, theirs: number, { unit, peer }: { unit: string; peer: string }) => [
  what,
  `${mine.toFixed(1)} ${unit}`,
  `${theirs.toFixed(1)} ${unit}`,
  peer,
  (mine / theirs).toFixed(2),
];
const rows = [
  row('CPU a put, 64 in flight', ours.puts, direct.puts, {
    unit: 'µs',
    peer: 'classic-level, batches of 64',
  }),
  row('CPU a record listed', ours.list, direct.list, {
    unit: 'µs',
    peer: 'classic-level, a scan that parses',
  }),
  row('CPU until ready', ours.start, bare.start, { unit: 'ms', peer: 'bare Node' }),
  row('memory at rest', ours.rest, bare.rest, { unit: 'MiB', peer: 'bare Node' }),
];
process.stdout.write(`${tableOf(['memoryd', 'loopkeep', 'peer', 'which', 'ratio'], rows)}\n`);

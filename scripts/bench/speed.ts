/**
 * Speed of the socket, the puts, the lists and the start, each beside something real in the same run: a bare Node echo,
 * a bare fdatasync append, classic-level used directly, better-sqlite3, `node -e 0`. Usage: speed.ts [ROUNDS]
 */
import { spawn, spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import {
  closeSync,
  fdatasyncSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ClassicLevel } from 'classic-level';
import { Client } from '../../shared/client.ts';
import { homeOf } from '../../shared/home.ts';
import { memorydProtocol } from '../../shared/protocol/memoryd.ts';
import {
  programCommand,
  startDaemon,
  temporaryHome,
  type RunningDaemon,
} from '../../shared/testing/start-daemon.ts';
import { LinePipe } from './line-pipe.ts';
import { tableOf } from './table.ts';

process.env['LOOPKEEP_DIST'] ??= '1';
const rounds = Number(process.argv[2] ?? 3);
const folder = dirname(fileURLToPath(import.meta.url));

interface Figure {
  readonly what: string;
  /** Medians over the rounds. */
  readonly ours: number;
  readonly theirs: number;
  readonly unit: string;
  readonly peer: string;
  /** ours : theirs. */
  readonly target: string;
}

const figures: Figure[] = [];

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

/** Both ends on one processor: otherwise a round trip measures how long an idle one takes to wake. */
function pin(pid: number): void {
  spawnSync('taskset', ['-p', '-c', '0', String(pid)]);
}

const episode = (at: number) => ({
  run_id: 'bench',
  iteration: at,
  node_id: `node-${at % 7}`,
  role: 'builder',
  provider_id: 'local',
  prompt_digest: 'd'.repeat(64),
  output: `step ${at}: ${'what was done and why, in words '.repeat(10)}`,
  created_ms: 1_790_000_000_000 + at,
});

const request = (method: string, params: object) => (at: number) =>
  `${JSON.stringify({ jsonrpc: '2.0', id: at, method, params })}\n`;
/** What a run writes most, and what no index waits for. */
const entry = (at: number) => ({
  run_id: 'bench',
  iteration: at,
  kind: 'node_succeeded',
  detail: `step ${at}: ${'what was done and why, in words '.repeat(10)}`,
  node_id: `node-${at % 7}`,
  created_ms: 1_790_000_000_000 + at,
});

const put = (at: number) =>
  `${JSON.stringify({ jsonrpc: '2.0', id: at, method: 'record/put', params: { kind: 'ledger', record: entry(at) } })}\n`;

async function echoServer(path: string, reply: string) {
  const script = `require('node:net').createServer((s) => s.on('data', (c) => { let n = 0; for (const b of c) if (b === 10) n++; if (n) s.write(${JSON.stringify(reply)}.repeat(n)); })).listen(${JSON.stringify(path)}, () => console.log('up'))`;
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  await new Promise((resolve) => child.stdout.once('data', resolve));
  return child;
}

async function pointReads(daemon: RunningDaemon, socket: string): Promise<void> {
  const ours = await LinePipe.open(socket);
  const note = { run_id: 'bench', key: 'note', value: 'x'.repeat(500) };
  await ours.run(request('record/put', { kind: 'scratchpad', record: note }), { count: 1, inFlight: 1 });
  const read = request('record/get', { kind: 'scratchpad', run_id: 'bench', key: 'note' });
  const path = join(temporary, 'echo.sock');
  const peer = await echoServer(
    path,
    `${JSON.stringify({ jsonrpc: '2.0', id: 1, result: { record: note } })}\n`,
  );
  const theirs = await LinePipe.open(path);
  for (const pid of [daemon.pid, peer.pid ?? 0, process.pid]) pin(pid);
  for (const [inFlight, count, target] of [
    [1, 5000, '<= 1.5'],
    [64, 50_000, '<= 2.5'],
  ] as const) {
    const shape = { count, inFlight };
    const mine: number[] = [];
    const bare: number[] = [];
    for (let round = 0; round <= rounds; round += 1) {
      const one = await ours.run(read, shape);
      const other = await theirs.run(read, shape);
      if (round === 0) continue;
      mine.push(median(one));
      bare.push(median(other));
    }
    figures.push({
      what: `point read, ${inFlight} in flight`,
      ours: median(mine) * 1000,
      theirs: median(bare) * 1000,
      unit: 'µs',
      peer: 'bare Node echo',
      target,
    });
  }
  spawnSync('taskset', ['-p', '-a', '-c', '0,1', String(process.pid)]);
  spawnSync('taskset', ['-p', '-a', '-c', '0,1', String(daemon.pid)]);
  ours.close();
  theirs.close();
  peer.kill();
}

function bareAppends(count: number): number {
  const fd = openSync(join(temporary, 'append'), 'a');
  const line = `${JSON.stringify(entry(0))}\n`;
  const took: number[] = [];
  for (let at = 0; at < count; at += 1) {
    const began = performance.now();
    writeSync(fd, line);
    fdatasyncSync(fd);
    took.push(performance.now() - began);
  }
  closeSync(fd);
  return median(took);
}

async function durablePuts(socket: string): Promise<void> {
  const pipe = await LinePipe.open(socket);
  const pipes = [pipe, ...(await Promise.all([1, 2, 3].map(() => LinePipe.open(socket))))];
  const rate = async (inFlight: number, count: number) => {
    const began = performance.now();
    const each = Math.min(inFlight, 64);
    const used = pipes.slice(0, inFlight / each);
    await Promise.all(used.map((one) => one.run(put, { count: count / used.length, inFlight: each })));
    return count / ((performance.now() - began) / 1000);
  };
  const alone: number[] = [];
  const bare: number[] = [];
  const rates = { 1: [] as number[], 64: [] as number[], 256: [] as number[] };
  for (let round = 0; round < rounds; round += 1) {
    const took = await pipe.run(put, { count: 300, inFlight: 1 });
    alone.push(median(took));
    rates[1].push(300 / (sum(took) / 1000));
    bare.push(bareAppends(300));
    rates[64].push(await rate(64, 6400));
    rates[256].push(await rate(256, 12_800));
  }
  const one = median(rates[1]);
  figures.push(
    {
      what: 'durable put, 1 in flight',
      ours: median(alone) * 1000,
      theirs: median(bare) * 1000,
      unit: 'µs',
      peer: 'bare fdatasync append',
      target: '<= 2.5',
    },
    {
      what: 'durable puts, 64 in flight',
      ours: median(rates[64]),
      theirs: one,
      unit: '/s',
      peer: 'the same, 1 in flight',
      target: '>= 8',
    },
    {
      what: 'durable puts, 256 in flight',
      ours: median(rates[256]),
      theirs: one,
      unit: '/s',
      peer: 'the same, 1 in flight',
      target: '>= 14',
    },
    {
      what: 'durable puts, 64 in flight',
      ours: median(rates[64]),
      theirs: sqlitePuts(),
      unit: '/s',
      peer: 'better-sqlite3, a transaction each',
      target: '>= 5',
    },
  );
  for (const each of pipes) each.close();
}

function sqlitePuts(): number {
  const Sqlite = createRequire(import.meta.url)('better-sqlite3') as new (path: string) => SqliteDatabase;
  const db = new Sqlite(join(temporary, 'peer.sqlite'));
  db.exec('PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE t (k TEXT PRIMARY KEY, v TEXT)');
  const insert = db.prepare('INSERT INTO t VALUES (?, ?)');
  const count = 600;
  const began = performance.now();
  for (let at = 0; at < count; at += 1)
    insert.run(`lg/${String(at).padStart(20, '0')}`, JSON.stringify(entry(at)));
  const rate = count / ((performance.now() - began) / 1000);
  db.close();
  return rate;
}

interface SqliteDatabase {
  exec(sql: string): void;
  prepare(sql: string): { run(...values: unknown[]): void };
  close(): void;
}

async function plainPuts(): Promise<void> {
  const { home, remove } = temporaryHome();
  writeFileSync(join(home, 'memoryd.toml'), '[store]\ndurable = "checkpoint"\n');
  const daemon = await startDaemon('memoryd', home);
  const pipe = await LinePipe.open(homeOf({ home }).memorySockets.loop);
  const db = new ClassicLevel(join(temporary, 'level'), {
    writeBufferSize: 16 * 1024 * 1024,
  });
  await db.open();
  const count = 20_000;
  const mine: number[] = [];
  const direct: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    let began = performance.now();
    await pipe.run(put, { count, inFlight: 64 });
    mine.push(count / ((performance.now() - began) / 1000));
    began = performance.now();
    for (let at = 0; at < count; at += 64) {
      const batch = db.batch();
      for (let to = at; to < at + 64; to += 1)
        batch.put(`lg/${round}/${String(to).padStart(20, '0')}`, JSON.stringify(entry(to)));
      await batch.write();
    }
    direct.push(count / ((performance.now() - began) / 1000));
  }
  figures.push({
    what: 'puts without sync, 64 in flight',
    ours: median(mine),
    theirs: median(direct),
    unit: '/s',
    peer: 'classic-level in process, batches of 64',
    target: '>= 0.75',
  });
  pipe.close();
  await db.close();
  await daemon.stop();
  remove();
}

/** Every page of a run's 100,000 episodes, beside a scan of the same values that parses each. */
async function listing(daemon: RunningDaemon, socket: string): Promise<void> {
  const pipe = await LinePipe.open(socket);
  const count = 100_000;
  const many = (at: number) =>
    request('record/put', { kind: 'episode', record: { ...episode(at), run_id: 'many' } })(at);
  await pipe.run(many, { count, inFlight: 64 });
  await indexed(socket);
  const db = new ClassicLevel(join(temporary, 'scan'), { writeBufferSize: 16 * 1024 * 1024 });
  await db.open();
  for (let at = 0; at < count; at += 1000) {
    await db.batch(
      Array.from({ length: 1000 }, (_, more) => ({
        type: 'put' as const,
        key: String(at + more).padStart(20, '0'),
        value: JSON.stringify(episode(at + more)),
      })),
    );
  }
  const before = residentBytes(daemon.pid);
  let most = before;
  const sampler = setInterval(() => (most = Math.max(most, residentBytes(daemon.pid))), 20);
  const mine: number[] = [];
  const direct: number[] = [];
  const first: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const { wholeMs, firstMs } = await listAll(socket);
    mine.push(wholeMs);
    first.push(firstMs);
    const began = performance.now();
    let parsed = 0;
    for await (const value of db.values({ highWaterMarkBytes: 256 * 1024 }))
      parsed += Object.keys(JSON.parse(value) as object).length;
    if (parsed === 0) throw new Error('the scan found nothing');
    direct.push(performance.now() - began);
  }
  clearInterval(sampler);
  figures.push(
    {
      what: 'list of 100,000 episodes',
      ours: median(mine),
      theirs: median(direct),
      unit: 'ms',
      peer: 'a scan that parses each',
      target: '<= 1.3',
    },
    { what: 'first page of it', ours: median(first), theirs: 10, unit: 'ms', peer: '10 ms', target: '<= 1' },
    {
      what: 'memory that listing adds',
      ours: (most - before) / 2 ** 20,
      theirs: 40,
      unit: 'MiB',
      peer: '40 MiB',
      target: '<= 1',
    },
  );
  await db.close();
  pipe.close();
}

/** The index reads episodes behind the puts; what is measured is a daemon that has nothing else to do. */
async function indexed(socket: string): Promise<void> {
  const client = new Client(socket, memorydProtocol, { unavailable: 'memory-unavailable' });
  for (;;) {
    const { index } = await client.call('status', {});
    if (index.behind === 0 && index.state === 'ok') break;
    await sleep(500);
  }
  client.close();
}

function listAll(socket: string): Promise<{ wholeMs: number; firstMs: number }> {
  return new Promise((resolve) => {
    const began = performance.now();
    let firstMs = 0;
    LineReader.open(socket, (reader, line) => {
      if (firstMs === 0) firstMs = performance.now() - began;
      const next = /"next":"([^"]+)"\}?\}?$/.exec(line.slice(-9000))?.[1];
      if (next === undefined) {
        reader.close();
        resolve({ wholeMs: performance.now() - began, firstMs });
      } else reader.send(next);
    });
  });
}

class LineReader {
  readonly #pipe: Socket;

  private constructor(pipe: Socket) {
    this.#pipe = pipe;
  }

  static open(path: string, onLine: (reader: LineReader, line: string) => void): LineReader {
    const reader = new LineReader(connect(path));
    let parts: Buffer[] = [];
    reader.#pipe.on('data', (chunk: Buffer) => {
      parts.push(chunk);
      if (chunk[chunk.length - 1] !== 0x0a) return;
      const line = Buffer.concat(parts).toString().trimEnd();
      parts = [];
      onLine(reader, line);
    });
    reader.send();
    return reader;
  }

  send(cursor?: string): void {
    const params = {
      kind: 'episode',
      run_id: 'many',
      limit: 1000,
      ...(cursor === undefined ? {} : { cursor }),
    };
    this.#pipe.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'record/list', params })}\n`);
  }

  close(): void {
    this.#pipe.destroy();
  }
}

function residentBytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;
}

async function starts(): Promise<void> {
  for (const name of ['memoryd', 'loopd'] as const) {
    const ready: number[] = [];
    const bare: number[] = [];
    let idle = 0;
    for (let round = 0; round < rounds + 2; round += 1) {
      const { home, remove } = temporaryHome();
      const began = performance.now();
      const daemon = await startDaemon(name, home);
      ready.push(performance.now() - began);
      if (round === rounds + 1) {
        await new Promise((resolve) => setTimeout(resolve, 2000));
        idle = residentBytes(daemon.pid);
      }
      await daemon.stop();
      remove();
      const start = performance.now();
      spawnSync(process.execPath, ['-e', '0']);
      bare.push(performance.now() - start);
    }
    figures.push(
      {
        what: `${name}: start to ready`,
        ours: median(ready),
        theirs: median(bare),
        unit: 'ms',
        peer: 'node -e 0',
        target: '<= 2.5',
      },
      {
        what: `${name}: idle memory`,
        ours: idle / 2 ** 20,
        theirs: bareBytes() / 2 ** 20 + 25,
        unit: 'MiB',
        peer: 'bare Node + 25 MiB',
        target: '<= 1',
      },
    );
  }
}

function bareBytes(): number {
  const script =
    "const m = require('node:fs').readFileSync('/proc/self/status', 'utf8'); console.log(/VmRSS:\\s+(\\d+)/.exec(m)[1])";
  return Number(spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' }).stdout.trim()) * 1024;
}

const temporary = mkdtempSync(join(tmpdir(), 'lk-bench-'));
if (programCommand('x.ts').length !== 2) throw new Error('build first: make build');
const { home, remove } = temporaryHome();
const memoryd = await startDaemon('memoryd', home);
try {
  const socket = homeOf({ home }).memorySockets.loop;
  await pointReads(memoryd, socket);
  await durablePuts(socket);
  await plainPuts();
  await listing(memoryd, socket);
} finally {
  await memoryd.stop();
  remove();
}
await starts();
rmSync(temporary, { recursive: true, force: true });

const short = (value: number) => (value >= 100 ? value.toFixed(0) : value.toFixed(1));
const rows = figures.map(({ what, ours, theirs, unit, peer, target }) => [
  what,
  `${short(ours)} ${unit}`,
  `${short(theirs)} ${unit}`,
  peer,
  (ours / theirs).toFixed(2),
  target,
]);
process.stdout.write(`${tableOf(['what', 'loopkeep', 'peer', 'which', 'ratio', 'target'], rows)}\n`);
writeFileSync(join(folder, 'speed.json'), `${JSON.stringify(figures, null, 2)}\n`);

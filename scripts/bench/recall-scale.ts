/**
 * What recall costs on a long history, beside SQLite's FTS5 in the same run. Usage:
 *
 *   recall-scale.ts [--turns 100000] [--data DATA] [--queries 200] [--adds 200] [--seed 1]
 *
 * DATA, as for recall.ts, gives sessions to draw from and questions to ask; without it both are made of words alone.
 * Both engines answer one after the other, question by question, so that what else the machine does falls on both.
 */
import {
  closeSync,
  fdatasyncSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readCases } from './data.ts';
import { turnsOf } from './engine.ts';
import { createTable, matchOf, openDatabase, selectTurns, type Database } from './fts5-engine.ts';
import { MemorydHome } from './memoryd-home.ts';
import { quantile } from './metrics.ts';
import { syntheticQuestions, syntheticSessions } from './synthetic.ts';
import { mebibytes, milliseconds, tableOf } from './table.ts';
import type { ImportedSession } from '../import/imported-session.ts';

const insertedAtOnce = 5000;
const hits = 10;

const { values } = parseArgs({
  options: {
    turns: { type: 'string', default: '100000' },
    data: { type: 'string' },
    queries: { type: 'string', default: '200' },
    adds: { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
  },
});
const [turns, queries, adds, seed] = [values.turns, values.queries, values.adds, values.seed].map(Number) as [
  number,
  number,
  number,
  number,
];

/** One row of the table: ours, theirs, and how many times theirs ours is. */
const rows: string[][] = [];

function report(what: string, ours: number, theirs: number | undefined, show = milliseconds): void {
  const ratio = theirs === undefined ? '' : (ours / theirs).toFixed(2);
  rows.push([what, show(ours), theirs === undefined ? '' : show(theirs), ratio]);
  process.stderr.write(`${what}: ${show(ours)}${theirs === undefined ? '' : ` against ${show(theirs)}`}\n`);
}

function reportTimes(what: string, ours: readonly number[], theirs: readonly number[]): void {
  for (const [name, q] of [
    ['p50', 0.5],
    ['p99', 0.99],
  ] as const)
    report(`${what} ${name}, ms`, quantile(ours, q), quantile(theirs, q));
}

async function timed(work: () => unknown): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

async function read(): Promise<{ drawn: ImportedSession[]; questions: string[] }> {
  const drawn: ImportedSession[] = [];
  const questions: string[] = [];
  if (values.data === undefined) return { drawn, questions: syntheticQuestions(queries * 3, seed + 1) };
  for await (const { sessions, questions: asked } of readCases(values.data)) {
    drawn.push(...sessions);
    questions.push(...asked.map(({ text }) => text));
  }
  return { drawn, questions };
}

class Sqlite {
  readonly #folder = mkdtempSync(join(tmpdir(), 'loopkeep-fts5-'));
  readonly #path = join(this.#folder, 'turns.db');
  readonly #database: Database;
  #next = 1;

  constructor() {
    this.#database = openDatabase(this.#path);
    this.#database.pragma('journal_mode = WAL');
    // As durable as a log that is synced.
    this.#database.pragma('synchronous = FULL');
    this.#database.exec(createTable);
  }

  index(sessions: Iterable<ImportedSession>): void {
    const insert = this.#database.prepare('INSERT INTO turns (rowid, text) VALUES (?, ?)');
    const insertAll = this.#database.transaction((texts: readonly string[]) => {
      for (const text of texts) {
        insert.run(this.#next, text);
        this.#next += 1;
      }
    });
    let batch: string[] = [];
    for (const session of sessions) {
      batch.push(...turnsOf(session).map(({ text }) => text));
      if (batch.length < insertedAtOnce) continue;
      insertAll(batch);
      batch = [];
    }
    insertAll(batch);
    this.#database.pragma('wal_checkpoint(TRUNCATE)');
  }

  search(query: string): void {
    const match = matchOf(query);
    if (match !== '') this.#database.prepare(selectTurns).all(match, hits);
  }

  add(text: string): void {
    this.#database.prepare('INSERT INTO turns (rowid, text) VALUES (?, ?)').run(this.#next, text);
    this.#next += 1;
  }

  get bytes(): number {
    return statSync(this.#path).size;
  }

  close(): void {
    this.#database.close();
    rmSync(this.#folder, { recursive: true });
  }
}

/** @returns whether the next read of a file comes from the disk. */
function dropPageCache(): boolean {
  try {
    writeFileSync('/proc/sys/vm/drop_caches', '3');
    return true;
  } catch {
    return false;
  }
}

/** Processor time of a process so far, in milliseconds. */
function processorMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  const ticksMs = 10;
  return (Number(fields[11]) + Number(fields[12])) * ticksMs;
}

async function compareQueries(
  home: MemorydHome,
  sqlite: Sqlite,
  questions: readonly string[],
): Promise<void> {
  const ask = (query: string) => home.client.call('recall', { query, limit: hits, window: 0 });
  const pass = async (name: string, asked: readonly string[]) => {
    const ours: number[] = [];
    const theirs: number[] = [];
    for (const [at, query] of asked.entries()) {
      // Whoever comes second finds the processor's caches warm for the same words.
      if (at % 2 === 0) ours.push(await timed(() => ask(query)));
      theirs.push(await timed(() => sqlite.search(query)));
      if (at % 2 === 1) ours.push(await timed(() => ask(query)));
    }
    reportTimes(name, ours, theirs);
  };
  const part = (at: number) => questions.slice(at * queries, (at + 1) * queries);
  await pass(dropPageCache() ? 'query, from the disk' : 'query, after a start', part(0));
  // Warm is the machine, not the engine: the files are in memory, the questions are new.
  for (const name of readdirSync(home.sessions)) readFileSync(join(home.sessions, name));
  await pass('query, warm', [...part(1), ...part(2)]);
}

async function compareAdds(
  home: MemorydHome,
  sqlite: Sqlite,
  sessions: Iterable<ImportedSession>,
): Promise<void> {
  const texts = [...sessions].flatMap(turnsOf).map(({ text }) => text);
  const ours: number[] = [];
  const theirs: number[] = [];
  home.writeSession({ id: 'adds', startedAt: '2026-11-30T00:00:00.000Z', origin: 'person', records: [] });
  const file = openSync(join(home.sessions, 'adds.jsonl'), 'a');
  for (const [at, text] of texts.entries()) {
    const record = { v: 1, seq: at + 1, at: '2026-11-30T00:00:00.000Z', type: 'turn', turn: at, text };
    ours.push(
      await timed(async () => {
        writeSync(file, `${JSON.stringify(record)}\n`);
        fdatasyncSync(file);
        await home.client.call('updated', { session: 'adds' });
      }),
    );
    theirs.push(await timed(() => sqlite.add(text)));
  }
  closeSync(file);
  reportTimes('one turn more, on the disk and findable', ours, theirs);
}

async function main(): Promise<void> {
  const { drawn, questions } = await read();
  const generate = () => syntheticSessions(drawn, { turns, seed });
  const home = new MemorydHome();
  const sqlite = new Sqlite();
  try {
    let textBytes = 0;
    for (const session of generate()) {
      home.writeSession(session);
      for (const { text } of turnsOf(session)) textBytes += Buffer.byteLength(text);
    }
    const theirIndexMs = await timed(() => sqlite.index(generate()));
    await home.start();
    const ourIndexMs = await timed(() => home.caughtUp());
    report('everything indexed, ms', ourIndexMs, theirIndexMs);
    report('processor time of that, ms', processorMs(home.pid), undefined);
    report('resident memory of memoryd then, MiB', await home.residentBytes(), undefined, mebibytes);
    await home.stop();
    report('index on the disk, MiB', home.diskBytes(), sqlite.bytes, mebibytes);
    report('text, MiB', textBytes, undefined, mebibytes);
    report('start to ready, ms', await timed(() => home.start()), undefined);
    await compareQueries(home, sqlite, questions);
    report('resident memory of memoryd after that, MiB', await home.residentBytes(), undefined, mebibytes);
    await compareAdds(home, sqlite, syntheticSessions(drawn, { turns: adds, seed: seed + 2 }));
  } finally {
    await home.stop();
    home.remove();
    sqlite.close();
  }
  const title = `${turns} turns${drawn.length === 0 ? ' of words alone' : ''}, seed ${seed}`;
  process.stdout.write(`\n${title}\n\n${tableOf(['', 'loopkeep', 'FTS5', 'ratio'], rows)}\n`);
}

await main();

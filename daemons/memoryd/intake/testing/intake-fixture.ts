/** An intake on a temporary folder, with session logs that tests write as loopd does. */
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { pino } from 'pino';
import type { CuratedFile } from '../../../../shared/protocol/replies.ts';
import type { KindName } from '../../../../shared/protocol/records.ts';
import { keyOf } from '../../plane/keys.ts';
import type { Engine, Range } from '../../store/engine.ts';
import { seal } from '../../store/envelope.ts';
import { openMemory } from '../../store/memory-engine.ts';
import { RecordReader, type RecordEntry } from '../../store/record-reader.ts';
import type { RecordOperation } from '../../store/record-store.ts';
import type { CuratedForgetting } from '../forget.ts';
import type { IntakeStore } from '../intake-store.ts';
import { Intake, type IntakeOptions } from '../intake.ts';
import type { Matcher } from '../matcher.ts';
import { FileIndex } from './file-index.ts';

export const silent = pino({ level: 'silent' });

export class IntakeFixture {
  readonly home: string;
  readonly sessionsDir: string;
  readonly indexDir: string;
  readonly store: MemoryStore;
  readonly curated = new CuratedDouble();
  intake!: Intake;
  /** The indexes that were opened, the newest last. */
  readonly indexes: FileIndex[] = [];
  nowMs = Date.UTC(2026, 10, 30);
  #seq = new Map<string, number>();

  private constructor(home: string, store: MemoryStore) {
    this.home = home;
    this.sessionsDir = join(home, 'sessions');
    this.indexDir = join(home, 'store', 'index');
    this.store = store;
  }

  static async create(t: TestContext): Promise<IntakeFixture> {
    const home = mkdtempSync(join(tmpdir(), 'loopkeep-intake-'));
    const fixture = new IntakeFixture(home, new MemoryStore(await openMemory({ encoding: 'text' })));
    mkdirSync(fixture.sessionsDir);
    t.after(async () => {
      await fixture.stop();
      rmSync(home, { recursive: true, force: true });
    });
    return fixture;
  }

  /** With everything read that is on the disk, as some time after a start. */
  static async caughtUp(t: TestContext): Promise<IntakeFixture> {
    const fixture = await IntakeFixture.create(t);
    await fixture.start();
    return fixture;
  }

  get index(): FileIndex {
    const index = this.indexes.at(-1);
    if (index === undefined) throw new Error('no index was opened');
    return index;
  }

  async start(options: Partial<IntakeOptions> = {}): Promise<void> {
    await this.open(options);
    await this.intake.caughtUp();
  }

  async open(options: Partial<IntakeOptions> = {}): Promise<void> {
    this.intake = await Intake.open({
      sessionsDir: this.sessionsDir,
      indexDir: this.indexDir,
      openIndex: async (at) => {
        const index = new FileIndex(at);
        this.indexes.push(index);
        return index;
      },
      store: this.store,
      curated: this.curated,
      nowMs: () => this.nowMs,
      log: silent,
      ...options,
    });
  }

  async stop(): Promise<void> {
    await (this.intake as Intake | undefined)?.stop();
    (this.intake as Intake | undefined) = undefined;
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  path(session: string): string {
    return join(this.sessionsDir, `${session}.jsonl`);
  }

  /** Begins a log with its header. */
  begin(session: string, more: object = {}): void {
    this.#seq.set(session, 0);
    const header = {
      type: 'session',
      id: session,
      origin: 'person',
      model: 'm',
      baseline: baseline('be kind'),
    };
    writeFileSync(this.path(session), `${this.line(session, { ...header, ...more })}\n`);
  }

  /** Appends a turn for each text, and begins the log where there is none. */
  say(session: string, ...texts: string[]): void {
    if (!this.#seq.has(session)) this.begin(session);
    for (const text of texts) this.write(session, { type: 'turn', turn: 0, text });
  }

  write(session: string, body: object): void {
    appendFileSync(this.path(session), `${this.line(session, body)}\n`);
  }

  /** The next record of the session as a line without its end. */
  line(session: string, body: object): string {
    const seq = this.#seq.get(session) ?? 0;
    this.#seq.set(session, seq + 1);
    return JSON.stringify({ v: 1, seq, at: new Date(this.nowMs + seq).toISOString(), ...body });
  }

  delete(session: string): void {
    unlinkSync(this.path(session));
    this.#seq.delete(session);
  }

  /** Into the store alone, as what nobody told the intake of. */
  async put(kind: KindName, record: Record<string, unknown>, seq: number): Promise<string> {
    const { run_id: run, iteration } = record as { run_id: string; iteration: number };
    const key = keyOf(kind, { run, iteration, seq, target: 'goal', key: 'note' });
    await this.store.commit([{ type: 'put', key, json: JSON.stringify(record), seq }]);
    return key;
  }

  /** The texts that recall finds, in no order. */
  async found(query: string): Promise<string[]> {
    const { hits } = await this.intake.recall({ query, limit: 100 });
    return hits.map(({ text }) => text).toSorted();
  }
}

export const baseline = (system: string) => ({ system, tools: [], version: '0'.repeat(64), tokens: 9 });

export const episode = (run: string, output: string) => ({
  run_id: run,
  iteration: 1,
  node_id: 'n',
  role: 'builder',
  provider_id: 'p',
  prompt_digest: 'd',
  output,
  created_ms: 5,
});

export const summary = (run: string, iteration: number, headline: string) => ({
  run_id: run,
  iteration,
  headline,
  facts: [`fact of ${headline}`],
  created_ms: 5,
});

/** The record store without its disk: sealed records, read by its own reader. */
export class MemoryStore implements IntakeStore {
  readonly #engine: Engine<string>;
  readonly #reader: RecordReader;
  #seq = 0;
  readonly compacted: string[] = [];
  /** What every call throws meanwhile. */
  fault: Error | undefined;

  constructor(engine: Engine<string>) {
    this.#engine = engine;
    this.#reader = new RecordReader(engine, () => {});
  }

  get(key: string): { seq: number; json: string } | undefined {
    this.#check();
    return this.#reader.get(key);
  }

  range(range: Range): AsyncIterable<RecordEntry[]> {
    this.#check();
    return this.#reader.range(range);
  }

  async commit(operations: readonly RecordOperation[]): Promise<void> {
    this.#check();
    const writes = operations.map((operation) => {
      if (operation.type === 'del') return operation;
      const { key, json, seq = (this.#seq += 1) } = operation;
      this.#seq = Math.max(this.#seq, seq);
      return { type: 'put', key, value: seal(key, { seq, json }) } as const;
    });
    await this.#engine.write(writes, { sync: false });
  }

  async compact(prefix: string): Promise<void> {
    this.compacted.push(prefix);
  }

  status(): { issued: number } {
    return { issued: this.#seq };
  }

  async damage(key: string): Promise<void> {
    await this.#engine.write([{ type: 'put', key, value: 'not as written' }], { sync: false });
  }

  async keys(): Promise<string[]> {
    const keys: string[] = [];
    for await (const page of this.#engine.range({})) keys.push(...page.map(([key]) => key));
    return keys;
  }

  #check(): void {
    if (this.fault !== undefined) throw this.fault;
  }
}

/** The curated files as lists of entries. */
class CuratedDouble implements CuratedForgetting {
  entries: Record<CuratedFile, string[]> = { memory: [], user: [] };

  async forgetMatching(matches: Matcher, { dryRun }: { dryRun: boolean }) {
    return (['memory', 'user'] as const).flatMap((file) => {
      const gone = this.entries[file].filter(matches);
      if (!dryRun) this.entries[file] = this.entries[file].filter((entry) => !gone.includes(entry));
      return [{ file, entries: gone.length }];
    });
  }

  readonly sessions: string[] = [];

  async forgetSession(session: string, { dryRun }: { dryRun: boolean }) {
    if (!dryRun) this.sessions.push(session);
    return [{ file: 'user' as const, entries: 0 }];
  }
}

/** A record plane over an engine in memory, for the tests: the real handlers, and a store whose records can be damaged. */
import { AppError } from '../../../shared/errors.ts';
import type { Role } from '../../../shared/protocol/method.ts';
import type { KindName } from '../../../shared/protocol/records.ts';
import { RawJson } from '../../../shared/raw-json.ts';
import { recordCarry } from '../requests/record-carry.ts';
import { recordFlush } from '../requests/record-flush.ts';
import { recordGet } from '../requests/record-get.ts';
import { recordList } from '../requests/record-list.ts';
import { recordPut } from '../requests/record-put.ts';
import { recordRuns } from '../requests/record-runs.ts';
import { recordScores } from '../requests/record-scores.ts';
import type { Engine, Range } from '../store/engine.ts';
import { seal } from '../store/envelope.ts';
import { openMemory } from '../store/memory-engine.ts';
import { RecordReader } from '../store/record-reader.ts';
import { RequestLedger } from '../store/requests.ts';
import type { PlaneContext, StoredRecord } from './context.ts';
import type { RecordEntry, RecordOperation, RecordStore } from './records.ts';

const handlers = {
  'record/put': recordPut,
  'record/get': recordGet,
  'record/list': recordList,
  'record/runs': recordRuns,
  'record/scores': recordScores,
  'record/carry': recordCarry,
  'record/flush': recordFlush,
};

/** What a test reads of a reply, whichever method gave it. */
interface Reply {
  readonly key: string;
  readonly seq: number;
  readonly record: Record<string, unknown> | null;
  readonly records: { key: string; seq?: number; record: Record<string, unknown> }[];
  readonly runs: string[];
  readonly scores: Record<string, unknown>[];
  readonly text: string;
  readonly left_out: number;
  readonly damaged: string[];
  readonly next: string;
}

export class PlaneFixture {
  readonly store: FixtureStore;
  readonly #requests: RequestLedger;
  /** What the index was told. */
  readonly told: StoredRecord[] = [];
  nowMs = 1_000;

  constructor(engine: Engine<string>) {
    this.store = new FixtureStore(engine);
    this.#requests = new RequestLedger(this.store, () => this.nowMs);
  }

  static async open(): Promise<PlaneFixture> {
    return new PlaneFixture(await openMemory({ encoding: 'text' }));
  }

  /** The reply to a request, as a client would read it; it also says what a throw at once would have hidden. */
  async call(method: keyof typeof handlers, params: object, role: Role = 'loop'): Promise<Reply> {
    const context: PlaneContext = {
      store: this.store,
      requests: this.#requests,
      nowMs: () => this.nowMs,
      onRecord: (stored) => this.told.push(stored),
    };
    const handle = handlers[method] as (params: object, context: PlaneContext, call: object) => unknown;
    const reply = await handle(params, context, { role, method });
    return JSON.parse(reply instanceof RawJson ? reply.json : JSON.stringify(reply)) as Reply;
  }

  async put(kind: KindName, record: object, beside: object = {}, role?: Role): Promise<Reply> {
    return await this.call('record/put', { kind, record, ...beside }, role);
  }
}

/** Records as the store keeps them, without its disk: sealed, and read by its own reader. */
class FixtureStore implements RecordStore {
  readonly #engine: Engine<string>;
  readonly #reader: RecordReader;
  #seq = 0;
  /** Of every commit: how many operations, and whether it was synced. */
  readonly commits: { operations: number; sync: boolean }[] = [];
  flushes = 0;
  /** As LevelDB tells it: after a scan, and not what is missing. */
  hasLostBlock = false;

  constructor(engine: Engine<string>) {
    this.#engine = engine;
    this.#reader = new RecordReader(engine, () => {});
  }

  get(key: string): { seq: number; json: string } | undefined {
    return this.#reader.get(key);
  }

  async *range(range: Range): AsyncIterable<RecordEntry[]> {
    yield* this.#reader.range(range);
    if (this.hasLostBlock) throw new AppError('store-damaged', 'a block cannot be read');
  }

  nextSequence(): number {
    this.#seq += 1;
    return this.#seq;
  }

  async commit(operations: readonly RecordOperation[], { sync = false } = {}): Promise<void> {
    this.commits.push({ operations: operations.length, sync });
    const writes = operations.map((operation) => {
      if (operation.type === 'del') return operation;
      const { key, json, seq = this.nextSequence() } = operation;
      return { type: 'put', key, value: seal(key, { seq, json }) } as const;
    });
    await this.#engine.write(writes, { sync });
  }

  async flush(): Promise<void> {
    this.flushes += 1;
  }

  async damage(key: string): Promise<void> {
    await this.#engine.write([{ type: 'put', key, value: 'not as written' }], { sync: false });
  }

  async keys(): Promise<string[]> {
    const keys: string[] = [];
    for await (const page of this.#engine.range({})) keys.push(...page.map(([key]) => key));
    return keys;
  }
}

/** A good record of each kind with its required fields alone. */
export const sparse = {
  episode: {
    run_id: 'r',
    iteration: 1,
    node_id: 'n',
    role: 'builder',
    provider_id: 'p',
    prompt_digest: 'd',
    output: 'o',
    created_ms: 5,
  },
  goal_state: {
    target: 't',
    satisfied: false,
    passed: 1,
    failed: 2,
    total: 4,
    reason: 'why',
    iteration: 1,
    updated_ms: 5,
  },
  ledger: { run_id: 'r', iteration: 1, kind: 'run_started', detail: 'd', created_ms: 5 },
  checkpoint: {
    run_id: 'r',
    iteration: 1,
    completed_nodes: ['n'],
    tokens_used: 1,
    cost_usd: 0.5,
    started_ms: 4,
    updated_ms: 5,
  },
  scratchpad: { run_id: 'r', key: 'k', value: 'v' },
  summary: { run_id: 'r', iteration: 1, headline: 'h', facts: ['f'], created_ms: 5 },
  skill_trial: {
    run_id: 'r',
    iteration: 1,
    node_id: 'n',
    skill: 's',
    source: 'here',
    pass_rate: 0.5,
    satisfied: true,
    created_ms: 5,
  },
  proposal: {
    run_id: 'r',
    iteration: 1,
    kind: 'try_skill',
    subject: 's',
    rationale: 'why',
    created_ms: 5,
  },
} as const satisfies Record<KindName, object>;

/** What has to stand beside a record of the kind. */
export function beside(kind: KindName): object {
  return kind === 'goal_state' ? { run_id: 'r' } : {};
}

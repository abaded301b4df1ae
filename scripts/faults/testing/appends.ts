/** A loop runner that appends records of every kind that is appended, several at once, and forgets a run now and then. */
import assert from 'node:assert/strict';
import type { SeededRandom } from '../../../daemons/memoryd/store/seeded-random.ts';
import type { Home } from '../../../shared/home.ts';
import type { KindName } from '../../../shared/protocol/records.ts';
import { fateOf, useWhileOpen, type Actor, type Fate, type View } from './actor.ts';
import { LineClient } from './line-client.ts';
import { filler } from './filler.ts';

interface Append {
  readonly params: { kind: KindName; record: Record<string, unknown>; request_id?: string };
  readonly run: string;
  fate: Fate;
  key?: unknown;
  seq?: number;
}

const appendedKinds = ['episode', 'ledger', 'skill_trial', 'proposal'] as const;
const burst = 8;
const opsPerLifeMax = 120;
const runs = 4;

/** The field of each kind that names the record. */
const tagField = {
  episode: 'node_id',
  ledger: 'detail',
  skill_trial: 'node_id',
  proposal: 'subject',
} as const;

export class Appends implements Actor {
  readonly #name: string;
  readonly #random: SeededRandom;
  readonly #log = new Map<string, Append>();
  /** Runs that are forgotten, or whose forgetting was cut off. */
  readonly #forgotten = new Map<string, Fate>();
  #run = 0;
  #seqFloor = 0;

  constructor(name: string, random: SeededRandom) {
    this.#name = name;
    this.#random = random;
  }

  get acknowledged(): number {
    return [...this.#log.values()].filter(({ fate }) => fate === 'acknowledged').length;
  }

  async act(home: Home): Promise<void> {
    await useWhileOpen(home.memorySockets.loop, opsPerLifeMax, async (client) => {
      const count = this.#random.below(4) === 0 ? burst : 1;
      await this.#burst(client, count);
      if (this.#random.below(60) === 0) await this.#forgetRun(home);
      return count;
    });
  }

  /** Sent at once, so that they may share a group; their order is that of sending. */
  async #burst(client: LineClient, count: number): Promise<void> {
    const sent = Array.from({ length: count }, () => this.#append());
    await Promise.all(sent.map((append) => this.#send(client, append)));
    let last = this.#seqFloor;
    for (const { fate, seq = 0 } of sent) {
      if (fate !== 'acknowledged') continue;
      assert.ok(seq > last, `${this.#name}: ${seq} after ${last} was acknowledged`);
      last = seq;
    }
    this.#seqFloor = last;
  }

  async #send(client: LineClient, append: Append): Promise<void> {
    const answer = await client.ask('record/put', append.params);
    append.fate = fateOf(answer, () => JSON.stringify(append.params));
    if (!('result' in answer)) return;
    append.key = answer.result['key'];
    append.seq = Number(answer.result['seq']);
  }

  #append(): Append {
    const tag = `${this.#name}-${this.#log.size}`;
    const kind = appendedKinds[this.#random.below(appendedKinds.length)] ?? 'ledger';
    const run = `${this.#name} run/${this.#run + this.#random.below(runs)}`;
    const record = recordOf(kind, { tag, run, text: filler(this.#random) });
    const hasId = this.#random.below(2) === 0;
    const params = { kind, record, ...(hasId ? { request_id: tag } : {}) };
    const append: Append = { params, run, fate: 'asked' };
    this.#log.set(tag, append);
    return append;
  }

  async #forgetRun(home: Home): Promise<void> {
    const ops = await LineClient.open(home.memorySockets.ops);
    if (ops === undefined) return;
    // Nothing of this client is under way, and it never writes to that run again.
    const run = `${this.#name} run/${this.#run}`;
    this.#run += 1;
    this.#forgotten.set(run, 'asked');
    this.#forgotten.set(
      run,
      fateOf(await ops.ask('forget', { run_id: run }), () => `forget ${run}`),
    );
    ops.destroy();
  }

  async settle({ ops, home }: View): Promise<void> {
    const loop = await LineClient.open(home.memorySockets.loop);
    assert.ok(loop);
    for (const append of this.#log.values()) {
      const mayRepeat = append.fate === 'asked' && append.params.request_id !== undefined;
      // Else whoever has run out of patience: it may be there or not, and once at most.
      if (mayRepeat && !this.#forgotten.has(append.run) && this.#random.below(3) > 0)
        await this.#send(loop, append);
    }
    loop.destroy();
    for (const [run, fate] of this.#forgotten) {
      if (fate === 'acknowledged') continue;
      await ops.call('forget', { run_id: run });
      this.#forgotten.set(run, 'acknowledged');
    }
  }

  async check(view: View): Promise<void> {
    const found = new Map<string, { key: string; seq?: number }>();
    for (const kind of appendedKinds) {
      for (const { key, seq, record } of await view.records(kind)) {
        const tag = String(record[tagField[kind]]);
        if (!tag.startsWith(`${this.#name}-`)) continue;
        assert.ok(!found.has(tag), `${tag} is stored twice`);
        found.set(tag, { key, ...(seq === undefined ? {} : { seq }) });
        this.#checkFound(tag, { key, seq, record });
      }
    }
    for (const [tag, { fate, key, seq, run }] of this.#log) {
      if (this.#forgotten.has(run)) assert.ok(!found.has(tag), `${tag} was forgotten and is there`);
      else if (fate === 'refused') assert.ok(!found.has(tag), `${tag} was refused and is there`);
      else if (fate === 'acknowledged') assert.deepEqual(found.get(tag), { key, seq }, `${tag} is lost`);
    }
    this.#seqFloor = await view.seqMax();
  }

  #checkFound(tag: string, found: { key: string; seq: number | undefined; record: Record<string, unknown> }) {
    const asked = this.#log.get(tag);
    assert.ok(asked, `${tag} was never asked for`);
    for (const [field, value] of Object.entries(asked.params.record))
      assert.deepEqual(found.record[field], value, `${found.key}: ${field}`);
  }
}

function recordOf(
  kind: (typeof appendedKinds)[number],
  { tag, run, text }: { tag: string; run: string; text: string },
): Record<string, unknown> {
  const both = { run_id: run, iteration: 1, created_ms: 1 };
  if (kind === 'ledger') return { ...both, kind: 'node_succeeded', detail: tag, node_id: text };
  if (kind === 'proposal') return { ...both, kind: 'try_skill', subject: tag, rationale: text };
  if (kind === 'skill_trial')
    return { ...both, node_id: tag, skill: 'knots', source: 'book', pass_rate: 0.5, satisfied: true };
  const served = { role: 'builder', provider_id: 'p', prompt_digest: '' };
  return { ...both, ...served, node_id: tag, output: text };
}

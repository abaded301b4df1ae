/** A loop runner that writes every kind that replaces, again and again; the gate's socket for rulings. */
import assert from 'node:assert/strict';
import type { SeededRandom } from '../../../daemons/memoryd/store/seeded-random.ts';
import type { Home } from '../../../shared/home.ts';
import { fateOf, useWhileOpen, type Actor, type View } from './actor.ts';
import { filler } from './filler.ts';
import type { LineClient } from './line-client.ts';

const kinds = ['goal_state', 'checkpoint', 'scratchpad', 'summary'] as const;
const cellsOfKind = 3;
const opsPerLifeMax = 150;
/** One of the kinds that replace, and one place of it. */
interface Cell {
  readonly kind: (typeof kinds)[number];
  readonly place: number;
  /** Every value that was asked for, in order; the one at `acknowledged` and none before it may be there. */
  readonly values: Record<string, unknown>[];
  acknowledged: number;
  readonly refused: Set<number>;
}

export class Cells implements Actor {
  readonly #name: string;
  readonly #random: SeededRandom;
  readonly #cells: Cell[];
  #count = 0;

  constructor(name: string, random: SeededRandom) {
    this.#name = name;
    this.#random = random;
    this.#cells = kinds.flatMap((kind) =>
      Array.from({ length: cellsOfKind }, (_, place) => ({
        kind,
        place,
        values: [],
        acknowledged: -1,
        refused: new Set<number>(),
      })),
    );
  }

  get acknowledged(): number {
    return this.#count;
  }

  async act(home: Home): Promise<void> {
    await useWhileOpen(home.memorySockets.gate, opsPerLifeMax, async (gate) => {
      const cells = this.#random.below(3) === 0 ? this.#cells.slice(0, 6) : [this.#anyCell()];
      await Promise.all(cells.map((cell) => this.#write(gate, cell)));
      if (this.#random.below(20) === 0) await gate.ask('record/flush', {});
    });
  }

  #anyCell(): Cell {
    const cell = this.#cells[this.#random.below(this.#cells.length)];
    assert.ok(cell);
    return cell;
  }

  #runOf({ place }: Cell): string {
    return `${this.#name}/${place}`;
  }

  async #write(gate: LineClient, cell: Cell): Promise<void> {
    const at = cell.values.length;
    const run = this.#runOf(cell);
    const record = valueOf(cell.kind, { run, at, text: filler(this.#random) });
    cell.values.push(record);
    const isBeside = cell.kind === 'goal_state';
    const params = { kind: cell.kind, record, ...(isBeside ? { run_id: run } : {}) };
    const fate = fateOf(await gate.ask('record/put', params), () => `put ${cell.kind}`);
    if (fate === 'refused') cell.refused.add(at);
    if (fate !== 'acknowledged') return;
    cell.acknowledged = Math.max(cell.acknowledged, at);
    this.#count += 1;
  }

  async settle(): Promise<void> {}

  async check({ ops }: View): Promise<void> {
    for (const cell of this.#cells) {
      const place = { kind: cell.kind, run_id: this.#runOf(cell), ...lookUp[cell.kind] };
      const { record } = (await ops.call('record/get', place)) as { record: Record<string, unknown> | null };
      const name = `${cell.kind} of ${this.#runOf(cell)}`;
      if (record === null) {
        assert.equal(cell.acknowledged, -1, `${name} is lost`);
        continue;
      }
      const at = cell.values.findIndex((value) => tagOf(value) === tagOf(record));
      assert.ok(at >= 0, `${name} was never asked for: ${JSON.stringify(record)}`);
      assert.ok(
        at >= cell.acknowledged,
        `${name}: value ${at} came back, ${cell.acknowledged} was acknowledged`,
      );
      assert.ok(!cell.refused.has(at), `${name}: value ${at} was refused`);
      for (const [field, value] of Object.entries(cell.values[at] ?? {}))
        assert.deepEqual(record[field], value, `${name}: ${field}`);
      // What was not acknowledged and is there now counts from now on.
      cell.acknowledged = at;
    }
  }
}

const lookUp = {
  goal_state: { target: 'goal' },
  checkpoint: {},
  scratchpad: { key: 'a note' },
  summary: { iteration: 7 },
} as const;

/** Every value is told from every other of its cell by its time, or its first word. */
function tagOf(record: Readonly<Record<string, unknown>>): unknown {
  return record['updated_ms'] ?? record['created_ms'] ?? String(record['value']).split('|')[0];
}

function valueOf(
  kind: Cell['kind'],
  { run, at, text }: { run: string; at: number; text: string },
): Record<string, unknown> {
  if (kind === 'goal_state') {
    const counts = { passed: 2, failed: 1, total: 3, iteration: at, updated_ms: at };
    return { target: 'goal', satisfied: at % 2 === 0, reason: text, ...counts };
  }
  if (kind === 'scratchpad') return { run_id: run, key: 'a note', value: `${at}|${text}` };
  if (kind === 'summary')
    return { run_id: run, iteration: 7, headline: text, facts: [`fact ${at}`], created_ms: at };
  const nodes = { completed_nodes: [`n${at}`], tokens_used: at, cost_usd: at / 4 };
  return { run_id: run, iteration: at, ...nodes, started_ms: 1, updated_ms: at, last_signature: text };
}

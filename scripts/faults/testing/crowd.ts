/** One of several clients that write into memory.md at once, each with entries of its own. */
import assert from 'node:assert/strict';
import type { SeededRandom } from '../../../daemons/memoryd/store/seeded-random.ts';
import type { Home } from '../../../shared/home.ts';
import { fateOf, useWhileOpen, type Actor, type Fate, type View } from './actor.ts';
import { LineClient } from './line-client.ts';

const opsPerLifeMax = 40;
const entriesMax = 12;

interface Change {
  /** Undefined where nothing goes, or nothing comes. */
  readonly before: string | undefined;
  readonly after: string | undefined;
  readonly params: Record<string, unknown>;
  fate: Fate;
}

export class Crowd implements Actor {
  readonly #name: string;
  readonly #random: SeededRandom;
  /** Entries that are there for sure. */
  readonly #entries = new Set<string>();
  readonly #gone = new Set<string>();
  /** The change that was under way when the connection ended. */
  #open: Change | undefined;
  #count = 0;
  #acknowledged = 0;

  constructor(name: string, random: SeededRandom) {
    this.#name = name;
    this.#random = random;
  }

  get acknowledged(): number {
    return this.#acknowledged;
  }

  async act(home: Home): Promise<void> {
    await useWhileOpen(home.memorySockets.loop, opsPerLifeMax, (client) => this.#send(client, this.#next()));
  }

  #next(): Change {
    const choice = this.#random.below(4);
    const known = [...this.#entries];
    const before = known[this.#random.below(Math.max(1, known.length))];
    const after = `${this.#name}-${(this.#count += 1)} likes - things\n- of ${this.#random.below(1000)} kinds`;
    const id = this.#random.below(2) === 0 ? { request_id: after.slice(0, 20) } : {};
    const file = { file: 'memory', ...id };
    const fate = 'asked';
    if (before === undefined || (choice < 2 && known.length < entriesMax))
      return { before: undefined, after, fate, params: { action: 'add', text: after, ...file } };
    if (choice === 2)
      return { before, after, fate, params: { action: 'replace', old: before, text: after, ...file } };
    return { before, after: undefined, fate, params: { action: 'remove', old: before, ...file } };
  }

  async #send(client: LineClient, change: Change): Promise<void> {
    this.#open = change;
    change.fate = fateOf(await client.ask('memory', change.params), () => JSON.stringify(change.params));
    if (change.fate === 'asked') return;
    this.#open = undefined;
    if (change.fate === 'acknowledged') this.#took(change);
  }

  #took({ before, after }: Change): void {
    if (before !== undefined && this.#entries.delete(before)) this.#gone.add(before);
    if (after !== undefined) this.#entries.add(after);
    this.#acknowledged += 1;
  }

  async settle({ home }: View): Promise<void> {
    const open = this.#open;
    if (open?.params['request_id'] === undefined || this.#random.below(3) === 0) return;
    const client = await LineClient.open(home.memorySockets.loop);
    assert.ok(client);
    await this.#send(client, open);
    client.destroy();
  }

  async check({ ops }: View): Promise<void> {
    const { entries } = (await ops.call('memory', { action: 'view', file: 'memory' })) as {
      entries: readonly string[];
    };
    const mine = entries.filter((entry) => entry.startsWith(`${this.#name}-`));
    assert.equal(new Set(mine).size, mine.length, `an entry of ${this.#name} is there twice`);
    const { before, after } = this.#open ?? {};
    for (const entry of this.#entries)
      assert.ok(mine.includes(entry) || entry === before, `acknowledged and not there: ${entry}`);
    for (const entry of mine)
      assert.ok(this.#entries.has(entry) || entry === after, `there and not asked for, or gone: ${entry}`);
    if (before !== undefined && after !== undefined)
      assert.ok(mine.includes(before) !== mine.includes(after), 'a replacement is half done');
    if (this.#open !== undefined) this.#resolve(this.#open, mine);
  }

  /** What was under way has happened or not; from now on that counts. */
  #resolve({ before, after }: Change, mine: readonly string[]): void {
    this.#open = undefined;
    if (before !== undefined && !mine.includes(before)) this.#entries.delete(before);
    if (after !== undefined && mine.includes(after)) this.#entries.add(after);
  }
}

/** The one client that writes user.md: after a kill the file is exactly as before or after the change under way. */
import assert from 'node:assert/strict';
import type { SeededRandom } from '../../../daemons/memoryd/store/seeded-random.ts';
import type { Home } from '../../../shared/home.ts';
import { fateOf, useWhileOpen, type Actor, type View } from './actor.ts';
import { LineClient } from './line-client.ts';

const opsPerLifeMax = 40;
const entriesMax = 10;

type Entries = readonly string[];

interface Step {
  readonly params: Record<string, unknown>;
  readonly after: Entries;
}

export class Owner implements Actor {
  readonly #random: SeededRandom;
  #entries: Entries = [];
  /** Before the last change; undefined where there is none that an undo would take back. */
  #earlier: Entries | undefined;
  #version = '';
  #open: Step | undefined;
  #count = 0;
  #acknowledged = 0;

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  get acknowledged(): number {
    return this.#acknowledged;
  }

  async act(home: Home): Promise<void> {
    this.#version = '';
    await useWhileOpen(home.memorySockets.loop, opsPerLifeMax, async (client) => {
      if (this.#version === '') await this.#look(client);
      await this.#send(client, this.#next());
    });
  }

  async #look(client: LineClient): Promise<void> {
    const answer = await client.ask('memory', { action: 'view', file: 'user' });
    if ('result' in answer) this.#version = String(answer.result['version']);
  }

  #next(): Step {
    const entries = this.#entries;
    const at = this.#random.below(Math.max(1, entries.length));
    const old = entries[at];
    const text = `fact ${(this.#count += 1)} of the owner`;
    const id = this.#random.below(2) === 0 ? { request_id: text } : {};
    const step = (params: object, after: Entries): Step => ({
      params: { file: 'user', ...params, ...id },
      after,
    });
    const choice = this.#random.below(6);
    if (choice === 0 && this.#earlier !== undefined) return step({ action: 'undo' }, this.#earlier);
    if (old === undefined || (choice < 3 && entries.length < entriesMax))
      return step({ action: 'add', text }, [...entries, text]);
    if (choice === 3) return step({ action: 'remove', old }, entries.toSpliced(at, 1));
    // A daemon that was stopping gave no version to expect.
    if (choice === 4 && this.#version !== '') {
      const kept = [...entries.slice(Math.ceil(entries.length / 2)), text];
      return step({ action: 'consolidate', entries: kept, expect: this.#version }, kept);
    }
    return step({ action: 'replace', old, text }, entries.with(at, text));
  }

  async #send(client: LineClient, step: Step): Promise<void> {
    this.#open = step;
    const answer = await client.ask('memory', step.params);
    const fate = fateOf(answer, () => JSON.stringify(step.params));
    if (fate === 'asked') return;
    this.#open = undefined;
    if (!('result' in answer)) return;
    this.#acknowledged += 1;
    assert.deepEqual(answer.result['entries'], step.after);
    this.#version = String(answer.result['version']);
    this.#took(step);
  }

  #took({ params, after }: Step): void {
    this.#earlier = params['action'] === 'undo' ? undefined : this.#entries;
    this.#entries = after;
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
    const view = await ops.call('memory', { action: 'view', file: 'user' });
    const open = this.#open;
    this.#open = undefined;
    const isDone = open !== undefined && JSON.stringify(view['entries']) === JSON.stringify(open.after);
    if (!isDone) assert.deepEqual(view['entries'], this.#entries, `after ${JSON.stringify(open?.params)}`);
    else this.#took(open);
  }
}

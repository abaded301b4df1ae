/** Writes session logs as loopd does, says `updated`, forgets a session now and then, and looks up what was acknowledged. */
import assert from 'node:assert/strict';
import { appendFileSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { SeededRandom } from '../../../daemons/memoryd/store/seeded-random.ts';
import type { Home } from '../../../shared/home.ts';
import { fateOf, useWhileOpen, type Actor, type Fate, type View } from './actor.ts';
import { filler } from './filler.ts';
import type { LineClient } from './line-client.ts';

const opsPerLifeMax = 30;
const lookUpsPerCheck = 4;

interface Session {
  readonly id: string;
  /** The word that each turn is known by. */
  readonly words: string[];
  /** So many of them were acknowledged as findable. */
  acknowledged: number;
  /** Bytes of a line whose end is not written yet. */
  rest: string;
  forgotten?: Fate;
}

export class LogWriter implements Actor {
  readonly #name: string;
  readonly #random: SeededRandom;
  readonly #sessions: Session[] = [];
  #acknowledged = 0;

  constructor(name: string, random: SeededRandom) {
    this.#name = name;
    this.#random = random;
  }

  get acknowledged(): number {
    return this.#acknowledged;
  }

  async act(home: Home): Promise<void> {
    await useWhileOpen(home.memorySockets.ops, opsPerLifeMax, async (client) => {
      const session = this.#any(home);
      if (session.acknowledged > 0 && this.#random.below(15) === 0) await this.#forget(home, session, client);
      else await this.#grow(home, session, client);
    });
  }

  #any(home: Home): Session {
    const alive = this.#sessions.filter(({ forgotten }) => forgotten === undefined);
    if (alive.length < 3 || this.#random.below(10) === 0) {
      const session = { id: `${this.#name}-${this.#sessions.length}`, words: [], acknowledged: 0, rest: '' };
      this.#sessions.push(session);
      appendFileSync(pathOf(home, session), headerOf(session.id));
      return session;
    }
    const one = alive[this.#random.below(alive.length)];
    assert.ok(one);
    return one;
  }

  /** Some whole lines, and sometimes the half of one more. */
  async #grow(home: Home, session: Session, client: LineClient): Promise<void> {
    let bytes = session.rest;
    session.rest = '';
    for (let more = this.#random.below(5); more >= 0; more -= 1) bytes += this.#line(session);
    const isWhole = this.#random.below(3) > 0;
    const whole = session.words.length - (isWhole ? 0 : 1);
    if (!isWhole) {
      const last = bytes.lastIndexOf('\n', bytes.length - 2) + 1;
      const cut = last + 1 + this.#random.below(bytes.length - last - 1);
      session.rest = bytes.slice(cut);
      bytes = bytes.slice(0, cut);
    }
    appendFileSync(pathOf(home, session), bytes);
    const answer = await client.ask('updated', { session: session.id });
    if (fateOf(answer, () => `updated ${session.id}`) !== 'acknowledged' || !('result' in answer)) return;
    assert.equal(answer.result['behind'], 0);
    session.acknowledged = Math.max(session.acknowledged, whole);
    this.#acknowledged += 1;
  }

  #line({ words }: Session): string {
    const word = `${this.#name}w${this.#sessions.length}x${words.length}q`;
    const turn = words.length;
    words.push(word);
    const text = `${word} ${filler(this.#random, 30)}`;
    const at = new Date(Date.UTC(2026, 10, 30, 0, 0, turn)).toISOString();
    return `${JSON.stringify({ v: 1, seq: turn + 1, at, type: 'turn', turn, text })}\n`;
  }

  /** By the operator's request, or by taking the log away as loopd does. */
  async #forget(home: Home, session: Session, client: LineClient): Promise<void> {
    session.forgotten = 'asked';
    const isDeleted = this.#random.below(2) === 0;
    if (isDeleted) unlinkSync(pathOf(home, session));
    const method = isDeleted ? 'updated' : 'forget';
    session.forgotten = fateOf(
      await client.ask(method, { session: session.id }),
      () => `forget ${session.id}`,
    );
  }

  async settle({ ops, home }: View): Promise<void> {
    for (const session of this.#sessions) {
      if (session.forgotten === undefined || session.forgotten === 'acknowledged') continue;
      const answer = await ops.ask('forget', { session: session.id });
      // A rebuild without its log has forgotten it too.
      const isUnknown = 'error' in answer && answer.error.data?.['code'] === 'session-unknown';
      assert.ok('result' in answer || isUnknown, JSON.stringify(answer));
      session.forgotten = 'acknowledged';
    }
    for (const session of this.#sessions) {
      if (session.forgotten !== undefined || session.rest === '' || this.#random.below(2) === 0) continue;
      // The other half of a line whose first half was there when memoryd was killed.
      appendFileSync(pathOf(home, session), session.rest);
      session.rest = '';
      await ops.call('updated', { session: session.id });
      session.acknowledged = session.words.length;
    }
  }

  async check({ ops }: View): Promise<void> {
    for (let times = 0; times < lookUpsPerCheck && this.#sessions.length > 0; times += 1) {
      const session = this.#sessions[this.#random.below(this.#sessions.length)];
      if (session === undefined || session.acknowledged === 0) continue;
      // The newest is what a kill would take, any other is what it must not have doubled.
      const at = times === 0 ? session.acknowledged - 1 : this.#random.below(session.acknowledged);
      const word = session.words[at] ?? '';
      const params = { query: word, limit: 20, window: 0, session: session.id };
      const { hits } = (await ops.call('recall', params)) as unknown as { hits: { text: string }[] };
      const found = hits.filter(({ text }) => text.startsWith(`${word} `)).length;
      assert.equal(found, session.forgotten === undefined ? 1 : 0, `${word} of ${session.id}`);
    }
  }
}

function pathOf(home: Home, { id }: Session): string {
  return join(home.sessions, `${id}.jsonl`);
}

function headerOf(id: string): string {
  const baseline = { system: '', tools: [], version: '', tokens: 0 };
  const at = '2026-11-30T00:00:00.000Z';
  return `${JSON.stringify({ v: 1, seq: 0, at, type: 'session', id, origin: 'person', model: '', baseline })}\n`;
}

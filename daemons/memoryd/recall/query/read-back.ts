/** Reads the texts of turns back, redacted; the only way by which a text leaves its log for an answer. */
import { redactSecrets } from '../../../../shared/secrets.ts';
import { tokensOf } from '../analysis/analyse.ts';
import { fold } from '../analysis/fold.ts';
import { mark } from '../index/columns.ts';
import type { TurnIndex } from '../index/turn-index.ts';
import type { Item, Texts, Wanted } from '../item.ts';

/** Turns whose terms are kept for the next query: about half a kilobyte each. */
const sequencesMax = 4_096;
/** A longer record is not read for ranking, only to be shown: its passages are ranked by the index alone. */
const rankedPassagesMax = 64;

export class ReadBack {
  readonly #index: TurnIndex;
  readonly #texts: Texts;
  readonly #sequences = new Map<number, readonly string[]>();

  constructor(index: TurnIndex, texts: Texts) {
    this.#index = index;
    this.#texts = texts;
  }

  /** The records of the turns, by turn; a record that is gone is missing. */
  async items(turns: Iterable<number>): Promise<Map<number, Item>> {
    const bySession = new Map<number, number[]>();
    for (const turn of turns) {
      if (this.#index.columns.isDead(turn)) continue;
      const session = this.#index.columns.session[turn]!;
      const known = bySession.get(session);
      if (known === undefined) bySession.set(session, [turn]);
      else known.push(turn);
    }
    const items = new Map<number, Item>();
    await Promise.all([...bySession].map(([session, turns]) => this.#readSession(session, turns, items)));
    return items;
  }

  /** The terms of turns in order, as far as they can be read; turns of very long records are left out. */
  async sequences(turns: Iterable<number>): Promise<Map<number, readonly string[]>> {
    const found = new Map<number, readonly string[]>();
    const missing: number[] = [];
    for (const turn of turns) {
      const known = this.#sequences.get(turn);
      if (known !== undefined) found.set(turn, known);
      else if (!this.#isVeryLong(turn)) missing.push(turn);
    }
    const items = await this.items(missing);
    for (const [turn, item] of items) {
      const sequence = tokensOf(fold(this.passageText(turn, item)))
        .filter(({ kind }) => kind !== 'whole' && kind !== 'single')
        .map(({ term }) => term);
      found.set(turn, sequence);
      const oldest = this.#sequences.keys().next();
      if (this.#sequences.size >= sequencesMax && !oldest.done) this.#sequences.delete(oldest.value);
      this.#sequences.set(turn, sequence);
    }
    return found;
  }

  /** The passage of a record's text that the turn is. */
  passageOf(turn: number, { text }: Item): { start: number; end: number } {
    const start = this.#index.placeOf(turn)?.start ?? 0;
    const next = turn + 1;
    const isFollowed =
      next < this.#index.columns.count && (this.#index.columns.flags[next]! & mark.continuation) !== 0;
    const end = isFollowed ? (this.#index.placeOf(next)?.start ?? text.length) : text.length;
    return { start: Math.min(start, text.length), end: Math.min(Math.max(start, end), text.length) };
  }

  passageText(turn: number, item: Item): string {
    const { start, end } = this.passageOf(turn, item);
    return item.text.slice(start, end);
  }

  /** The passage and the next one of the record, for what begins in the one and ends in the other. */
  passageOnwards(turn: number, item: Item): string {
    const { start, end } = this.passageOf(turn, item);
    const onwards = end === item.text.length ? end : this.passageOf(turn + 1, item).end;
    return item.text.slice(start, onwards);
  }

  /** Nothing of what is gone now is kept. */
  forgetAll(): void {
    this.#sequences.clear();
  }

  async #readSession(session: number, turns: readonly number[], into: Map<number, Item>): Promise<void> {
    const byRecord = new Map<string, { wanted: Wanted; turns: number[] }>();
    for (const turn of turns) {
      const place = this.#index.placeOf(turn);
      if (place === undefined) continue;
      const { record, locator } = place;
      const key = `${record} ${locator}`;
      const known = byRecord.get(key);
      if (known === undefined) byRecord.set(key, { wanted: { record, locator }, turns: [turn] });
      else known.turns.push(turn);
    }
    const wanted = [...byRecord.values()];
    const { kind, id } = this.#index.sessions.at(session);
    const read = await this.#texts.read(
      { kind, id },
      wanted.map(({ wanted }) => wanted),
    );
    for (const [at, item] of read.entries()) {
      if (item === undefined) continue;
      const redacted = { ...item, text: redactSecrets(item.text).toWellFormed() };
      for (const turn of wanted[at]?.turns ?? []) into.set(turn, redacted);
    }
  }

  #isVeryLong(turn: number): boolean {
    const { flags, count } = this.#index.columns;
    let passages = 0;
    for (let at = turn; at >= 0 && (flags[at]! & mark.continuation) !== 0; at -= 1) {
      if ((passages += 1) > rankedPassagesMax) return true;
    }
    for (let at = turn + 1; at < count && (flags[at]! & mark.continuation) !== 0; at += 1) {
      if ((passages += 1) > rankedPassagesMax) return true;
    }
    return false;
  }
}

/**
 * One curated file with its history: read anew each time, written by nobody else of ours in between.
 *
 * A change is on the disk twice when it is acknowledged: in the history first, then in the file. What a crash leaves
 * between the two is brought into the file before anything else is done to it, so that a reply that was remembered
 * for a `request_id` is true.
 */
import { join } from 'node:path';
import { AppError, toAppError } from '../../../shared/errors.ts';
import type { CuratedFile as FileName } from '../../../shared/protocol/replies.ts';
import type { Role } from '../../../shared/protocol/method.ts';
import { versionOf, type Outcome } from './actions.ts';
import { discard, isStill, prepare, replaceWith, syncFolderOf, type Seen } from './disk-file.ts';
import { applyChanges, diffEntries, sameEntries } from './entry-diff.ts';
import { Editing } from './exchange.ts';
import { render, type ParsedFile } from './file-format.ts';
import { forgottenMark, redact, type Forgetting, type Forgotten } from './forgetting.ts';
import { HistoryHead } from './history-head.ts';
import { History, type Change, type CuratedStore } from './history.ts';
import { judge, type Asked, type Judged, type Proposal, type Wish } from './judging.ts';
import type { MemoryRequest } from './memory-params.ts';
import { OneAtATime } from './one-at-a-time.ts';
import { lookAt, type Reading } from './reading.ts';
import { restoredFrom } from './restoring.ts';

interface FileOptions {
  readonly dir: string;
  readonly name: FileName;
  readonly store: CuratedStore;
  readonly limit: number;
  readonly nowMs: () => number;
  /** Told of what failed behind a reply that did not depend on it. */
  readonly onFault: (error: AppError) => void;
}

/** An editor that saves without pause can make a change start over; not for ever. */
const startsMax = 50;

export class CuratedFile {
  readonly name: FileName;
  readonly path: string;
  readonly limit: number;
  readonly history: History;
  readonly #head: HistoryHead;
  readonly #onFault: (error: AppError) => void;
  readonly #turns = new OneAtATime();
  readonly #editing = new Editing();
  /** What the file held when it was last seen. */
  #known: Buffer | undefined;
  #isNoticing = false;

  constructor({ dir, name, store, limit, nowMs, onFault }: FileOptions) {
    this.name = name;
    this.path = join(dir, `${name}.md`);
    this.limit = limit;
    this.history = new History(store, name);
    this.#head = new HistoryHead(this.history, store, nowMs);
    this.#onFault = onFault;
  }

  /** @throws AppError memory-unreadable, also where the file is missing while its history holds entries. */
  async read(): Promise<ParsedFile> {
    const { parsed } = await this.#look();
    if (!this.#head.isAt(parsed.entries)) this.#notice();
    return parsed;
  }

  /** Does a wish on the file as it then is; the outcome is on the disk when this returns. */
  change(wish: Wish): Promise<Outcome> {
    return this.#turns.run(async () => {
      await this.#recover();
      const outcome = await this.#retry(() => this.#attempt(wish));
      if (this.#turns.isLast) this.#head.mark();
      return outcome;
    });
  }

  /** What a wish would do, without doing it. */
  async wouldBe(request: MemoryRequest, by: Role): Promise<{ before: readonly string[]; outcome: Outcome }> {
    const { entries } = await this.read();
    const hand = await this.#handEdit(entries);
    const { outcome } = await this.#judge({ request, by }, entries, hand);
    return { before: entries, outcome };
  }

  /** Returns when what a crash cut off is in the file: a remembered reply is true from here on. */
  async recovered(): Promise<void> {
    if (await this.#head.unconfirmed()) await this.#turns.run(() => this.#recover());
  }

  /**
   * An empty file where there never was one: from here on a file that is missing was taken away, and that can be told
   * without the history too.
   */
  make(): Promise<void> {
    return this.#turns.run(async () => {
      const { seen } = await this.#look();
      if (seen.bytes === undefined) await this.#replace(seen, Buffer.alloc(0));
    });
  }

  /**
   * Takes entries out of the file and out of its whole history, where `forgotten` stands in their place.
   * @returns how many entries and how many changes held something to forget
   */
  forget(forgetting: Forgetting): Promise<Forgotten> {
    const { isForgotten, isDryRun } = forgetting;
    return this.#turns.run(async () => {
      await this.#recover();
      const { many, left } = await this.#retry(async () => {
        const { seen, parsed } = await this.#look();
        await this.#head.record(await this.#handEdit(parsed.entries));
        const left = parsed.entries.filter((entry) => !isForgotten(entry));
        const many = parsed.entries.length - left.length;
        const isDone = isDryRun || many === 0 || (await this.#replace(seen, render(parsed, left)));
        return isDone ? { many, left } : undefined;
      });
      const changes = await redact({ history: this.history, head: this.#head, ...forgetting });
      if (!isDryRun && many + changes > 0) {
        this.#head.forget();
        const change = this.#ownChange('forget', left, left);
        const gone = { before: forgottenMark, after: null };
        await this.#head.record({ ...change, changed: Array.from({ length: many }, () => gone) });
      }
      return { entries: many, changes };
    });
  }

  /**
   * Brings in the file of an export, after its records: also where the file is missing while the history holds entries.
   * @returns false when all of it is there already
   */
  restore(text: string): Promise<boolean> {
    return this.#turns.run(async () => {
      this.#head.forget();
      return await this.#retry(async () => {
        const known = (await this.#head.newest())?.entries ?? [];
        const { seen, parsed } = await lookAt(this.path, this.#known);
        const isMissing = seen.bytes === undefined;
        const current = isMissing ? undefined : parsed;
        const restored = restoredFrom(text, { current, limit: this.limit, known });
        if (!restored) return { isStored: false };
        const { bytes, entries } = restored;
        // An empty file beside a history that came just before it was not emptied by anybody: it was waiting for this.
        const isBlank = isMissing || (parsed.entries.length === 0 && parsed.preamble === '');
        const hand = isBlank ? undefined : await this.#handEdit(parsed.entries);
        const before = hand?.entries ?? known;
        const change = this.#ownChange('import', before, entries);
        const isDone = sameEntries(before, entries)
          ? await this.#replace(seen, bytes)
          : await this.#write(seen, bytes, { change, hand, beside: [], withdrawn: () => [] });
        return isDone ? { isStored: true } : undefined;
      }).then(({ isStored }) => {
        this.#head.mark();
        return isStored;
      });
    });
  }

  /** Everything that runs behind replies is done. */
  async settled(): Promise<void> {
    await this.#turns.settled();
    await this.#head.marked();
  }

  /** One try; undefined when the file changed under it. */
  async #attempt(wish: Wish): Promise<Outcome | undefined> {
    const { seen, parsed } = await this.#look();
    const { entries } = parsed;
    const hand = await this.#handEdit(entries);
    let judged: Judged;
    try {
      judged = await this.#judge(wish, entries, hand);
    } catch (error) {
      await this.#head.record(hand);
      throw error;
    }
    const { outcome, change } = judged;
    const beside = wish.beside(outcome);
    if (!change) {
      await this.#head.record(hand, beside);
      return outcome;
    }
    const bytes = render(parsed, outcome.entries);
    const withdrawn = () => wish.withdrawn(outcome);
    return (await this.#write(seen, bytes, { change, hand, beside, withdrawn })) ? outcome : undefined;
  }

  /** Into the history, then into the file; false, and neither done, when the file changed under it. */
  async #write(seen: Seen, bytes: Buffer, { change, hand, beside, withdrawn }: Proposal): Promise<boolean> {
    const temp = await prepare(seen, bytes);
    try {
      if (!isStill(seen)) return false;
      await this.#head.propose(change, hand, beside);
      if (!(await this.#place(temp, seen, () => this.#head.withdraw(change, withdrawn())))) return false;
    } finally {
      await discard(temp);
    }
    this.#known = bytes;
    this.#head.confirm(change);
    await syncFolderOf(seen);
    return true;
  }

  /** Puts the new content in the place of what was seen; false, and nothing done, when that is not there any more. */
  async #place(temp: string, seen: Seen, withdraw: () => Promise<void>): Promise<boolean> {
    try {
      if (replaceWith(temp, seen, await this.#editing.exchange())) return true;
    } catch (error) {
      await withdraw();
      throw error;
    }
    this.#editing.notice();
    await withdraw();
    return false;
  }

  #judge(wish: Asked, entries: readonly string[], hand: Change | undefined) {
    const { history, limit } = this;
    return judge(wish, { history, limit, at: this.#head.now(), entries, hand });
  }

  async #handEdit(entries: readonly string[]): Promise<Change | undefined> {
    const hand = await this.#head.handEdit(entries);
    if (hand) this.#editing.notice();
    return hand;
  }

  async #look(): Promise<Reading> {
    const reading = await lookAt(this.path, this.#known);
    if (reading.seen.bytes === undefined) await this.#head.checkMayMiss(this.path);
    this.#known = reading.seen.bytes;
    return reading;
  }

  /** The newest change, if a crash may have kept it out of the file, is brought in; what people did since stays. */
  async #recover(): Promise<void> {
    const change = await this.#head.unconfirmed();
    if (!change) return;
    if (change.by !== 'hand') await this.#retry(() => this.#bringIn(change));
    this.#head.confirm(change);
    this.#head.mark();
  }

  async #bringIn({ base, entries: after, changed }: Change): Promise<true | undefined> {
    const { seen, parsed } = await this.#look();
    const isUntouched = versionOf(parsed.entries) === base;
    const entries = isUntouched ? after : applyChanges(parsed.entries, changed);
    if (sameEntries(entries, parsed.entries)) return true;
    return (await this.#replace(seen, render(parsed, entries))) || undefined;
  }

  /** False, and nothing done, when the file is not what was seen any more. */
  async #replace(seen: Seen, bytes: Buffer): Promise<boolean> {
    const temp = await prepare(seen, bytes);
    try {
      if (!(await this.#place(temp, seen, async () => {}))) return false;
    } finally {
      await discard(temp);
    }
    this.#known = bytes;
    await syncFolderOf(seen);
    return true;
  }

  #ownChange(action: string, before: readonly string[], entries: readonly string[]): Change {
    const changed = diffEntries(before, entries);
    return this.history.change({ at: this.#head.now(), action, by: 'ops', before, changed, entries });
  }

  async #retry<T>(attempt: () => Promise<T | undefined>): Promise<T> {
    for (let starts = 1; starts <= startsMax; starts += 1) {
      const result = await attempt();
      if (result !== undefined) return result;
    }
    throw new AppError('memory-unwritable', `${this.path} changed during each of ${startsMax} attempts`, {
      details: { path: this.path, reason: 'busy' },
    });
  }

  /** A hand edit that a reader saw belongs into the history too; the reader does not wait for it. */
  #notice(): void {
    if (this.#isNoticing) return;
    this.#isNoticing = true;
    void this.#turns.run(async () => {
      try {
        await this.#recover();
        const { parsed } = await this.#look();
        await this.#head.record(await this.#handEdit(parsed.entries));
      } catch (error) {
        const fault = toAppError(error);
        // The store reports its own faults, once and not at each reading.
        if (!fault.code.startsWith('store-')) this.#onFault(fault);
      } finally {
        this.#isNoticing = false;
      }
    });
  }
}

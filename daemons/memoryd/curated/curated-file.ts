/**
 * One curated file with its history: read anew each time, written by nobody else of ours in between.
 *
 * A change is on the disk twice when it is acknowledged: in the history first, then in the file. What a crash leaves
 * between the two is brought into the file before anything else is done to it, so that a reply that was remembered
 * for a `request_id` is true.
 */
import { join } from 'node:path';
import { AppError, toAppError } from '../../../shared/errors.ts';
import type { CuratedFile as FileName } from '../../../shared/protocol/memoryd.ts';
import type { Role } from '../../../shared/protocol/method.ts';
import type { RecordOperation } from '../store/record-store.ts';
import { act, versionOf, type Outcome } from './actions.ts';
import { discard, isStill, prepare, replaceWith, syncFolderOf, type Seen } from './disk-file.ts';
import { applyChanges, sameEntries } from './entry-diff.ts';
import { render, type ParsedFile } from './file-format.ts';
import { forgottenMark, redact, type Forgetting, type Forgotten } from './forgetting.ts';
import { HistoryHead } from './history-head.ts';
import { History, type Change, type CuratedStore } from './history.ts';
import type { MemoryRequest } from './memory-params.ts';
import { OneAtATime } from './one-at-a-time.ts';
import { lookAt, type Reading } from './reading.ts';

export interface FileOptions {
  readonly dir: string;
  readonly name: FileName;
  readonly store: CuratedStore;
  readonly limit: number;
  readonly nowMs: () => number;
  /** Told of what failed behind a reply that did not depend on it. */
  readonly onFault: (error: AppError) => void;
}

interface Judged {
  readonly outcome: Outcome;
  /** Undefined where the outcome changes nothing. */
  readonly change?: Change;
}

export interface Wish {
  readonly request: MemoryRequest;
  readonly by: Role;
  /** Operations that belong into the same commit, such as the remembered reply. */
  readonly beside: (outcome: Outcome) => readonly RecordOperation[];
  /** What takes those back. */
  readonly withdrawn: (outcome: Outcome) => readonly RecordOperation[];
  /** Refused where the file is not at this version any more. */
  readonly version?: string;
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
    const hand = await this.#head.handEdit(entries);
    const { outcome } = await this.#judge(request, by, { entries, hand });
    return { before: entries, outcome };
  }

  /** Returns when what a crash cut off is in the file: a remembered reply is true from here on. */
  async recovered(): Promise<void> {
    if (await this.#head.unconfirmed()) await this.#turns.run(() => this.#recover());
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
        await this.#head.record(await this.#head.handEdit(parsed.entries));
        const left = parsed.entries.filter((entry) => !isForgotten(entry));
        const many = parsed.entries.length - left.length;
        const isDone = isDryRun || many === 0 || (await this.#replace(seen, render(parsed, left)));
        return isDone ? { many, left } : undefined;
      });
      const changes = await redact({ history: this.history, head: this.#head, ...forgetting });
      if (!isDryRun && many + changes > 0) {
        this.#head.forget();
        await this.#head.record(this.#forgetting(many, left));
      }
      return { entries: many, changes };
    });
  }

  /** Everything that runs behind replies is done. */
  async settled(): Promise<void> {
    await this.#turns.settled();
    await this.#head.marked();
  }

  /** One try; undefined when the file changed under it. */
  async #attempt({ request, by, beside, withdrawn, version }: Wish): Promise<Outcome | undefined> {
    const { seen, parsed } = await this.#look();
    const { entries } = parsed;
    const hand = await this.#head.handEdit(entries);
    let judged: Judged;
    try {
      if (version !== undefined && version !== versionOf(entries)) throw this.#changedSince(entries);
      judged = await this.#judge(request, by, { entries, hand });
    } catch (error) {
      await this.#head.record(hand);
      throw error;
    }
    const { outcome, change } = judged;
    if (!change) {
      await this.#head.record(hand, beside(outcome));
      return outcome;
    }
    const bytes = render(parsed, outcome.entries);
    const temp = await prepare(seen, bytes);
    try {
      if (!isStill(seen)) return undefined;
      await this.#head.propose(change, hand, beside(outcome));
      const isPlaced = await this.#place(temp, seen, () => this.#head.withdraw(change, withdrawn(outcome)));
      if (!isPlaced) return undefined;
    } finally {
      await discard(temp);
    }
    this.#known = bytes;
    this.#head.confirm(change);
    await syncFolderOf(seen);
    return outcome;
  }

  /** Puts the new content in the place of what was seen; false, and nothing done, when that is not there any more. */
  async #place(temp: string, seen: Seen, withdraw: () => Promise<void>): Promise<boolean> {
    if (!isStill(seen)) {
      await withdraw();
      return false;
    }
    try {
      replaceWith(temp, seen);
      return true;
    } catch (error) {
      await withdraw();
      throw error;
    }
  }

  /** What comes of a request on these entries, and the change to store if it changes any. */
  async #judge(
    request: MemoryRequest,
    by: Role,
    { entries, hand }: { entries: readonly string[]; hand: Change | undefined },
  ): Promise<Judged> {
    const { operations, isBatch, reason, origin } = request;
    const undos = operations.filter(({ action }) => action === 'undo').length;
    const earlier = undos === 0 ? [] : await this.history.earlier(undos, hand);
    const situation = {
      entries,
      limit: this.limit,
      earlier: earlier.map((state) => state.entries),
      maySayCredentials: by === 'ops',
    };
    const outcome = act(situation, operations, isBatch);
    if (sameEntries(outcome.entries, entries)) return { outcome };
    const tookBack = isBatch ? undefined : earlier[0]?.seq;
    const change = this.history.change({
      at: this.#head.now(),
      action: isBatch ? 'operations' : (operations[0]?.action ?? 'operations'),
      by,
      before: entries,
      changed: outcome.changed,
      entries: outcome.entries,
      ...(reason === undefined ? {} : { reason }),
      ...(origin === undefined ? {} : { origin }),
      ...(tookBack === undefined ? {} : { took_back: tookBack }),
    });
    return { outcome, change };
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

  #forgetting(many: number, left: readonly string[]): Change {
    const gone = { before: forgottenMark, after: null };
    return this.history.change({
      at: this.#head.now(),
      action: 'forget',
      by: 'ops',
      before: left,
      changed: Array.from({ length: many }, () => gone),
      entries: left,
    });
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
        await this.#head.record(await this.#head.handEdit(parsed.entries));
      } catch (error) {
        const fault = toAppError(error);
        // The store reports its own faults, once and not at each reading.
        if (!fault.code.startsWith('store-')) this.#onFault(fault);
      } finally {
        this.#isNoticing = false;
      }
    });
  }

  #changedSince(entries: readonly string[]): AppError {
    return new AppError('memory-changed', 'the file has changed since', {
      details: { version: versionOf(entries), entries },
    });
  }
}

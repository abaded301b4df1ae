/** The newest change of a file's history, and whether it is known to be in the file. */
import { AppError } from '../../../shared/errors.ts';
import type { RecordOperation } from '../store/record-store.ts';
import { versionOf } from './actions.ts';
import { diffEntries, sameEntries } from './entry-diff.ts';
import { foundAction, type Change, type CuratedStore, type History } from './history.ts';

export class HistoryHead {
  readonly #history: History;
  readonly #store: CuratedStore;
  readonly #nowMs: () => number;
  /** Undefined before the first look, and after a commit whose outcome is to be seen in the store. */
  #newest: { readonly change: Change | undefined } | undefined;
  #isConfirmed = false;
  #marking: Promise<void> = Promise.resolve();

  constructor(history: History, store: CuratedStore, nowMs: () => number) {
    this.#history = history;
    this.#store = store;
    this.#nowMs = nowMs;
  }

  async newest(): Promise<Change | undefined> {
    if (!this.#newest) {
      const change = await this.#history.newest();
      this.#isConfirmed = change === undefined || this.#history.confirmed() >= change.seq;
      this.#newest = { change };
    }
    return this.#newest.change;
  }

  /** The newest change, if a crash may have kept it out of the file. */
  async unconfirmed(): Promise<Change | undefined> {
    const change = await this.newest();
    return this.#isConfirmed ? undefined : change;
  }

  /** Whether these entries are known to be what the history says. */
  isAt(entries: readonly string[]): boolean {
    if (!this.#newest || !this.#isConfirmed) return false;
    return sameEntries(this.#newest.change?.entries ?? [], entries);
  }

  /**
   * The change that a file shows against its history, if any: made by hand, and not recorded yet. What people had
   * written before there was a history is found, not changed: no undo takes it away.
   */
  async handEdit(entries: readonly string[]): Promise<Change | undefined> {
    const newest = await this.newest();
    const before = newest?.entries ?? [];
    if (sameEntries(before, entries)) return undefined;
    return this.#history.change({
      at: this.now(),
      action: newest ? 'edit' : foundAction,
      by: 'hand',
      before,
      changed: diffEntries(before, entries),
      entries,
    });
  }

  /** Stores a hand edit, which is in the file already. */
  async record(hand: Change | undefined, beside: readonly RecordOperation[] = []): Promise<void> {
    if (!hand && beside.length === 0) return;
    const own = hand ? [this.#history.put(hand), this.#history.confirm(hand.seq)] : [];
    await this.commit([...own, ...beside]);
    if (hand) this.#newest = { change: hand };
  }

  /** Stores a change that is not in the file yet, with the hand edit that it stands on. */
  async propose(change: Change, hand: Change | undefined, beside: readonly RecordOperation[]): Promise<void> {
    const before = hand ?? (await this.newest());
    await this.commit([
      ...(hand ? [this.#history.put(hand)] : []),
      ...(before ? [this.#history.confirm(before.seq)] : []),
      this.#history.put(change),
      ...beside,
    ]);
    if (hand) this.#newest = { change: hand };
  }

  /** The proposed change did not get into the file: the history must not say that it did. */
  async withdraw(change: Change, beside: readonly RecordOperation[]): Promise<void> {
    await this.commit([this.#history.takeBack(change), ...beside]);
  }

  /** The change is in the file. */
  confirm(change: Change): void {
    this.#newest = { change };
    this.#isConfirmed = true;
  }

  /** Saves the next start a look at the file; while changes come in a row, each carries the mark of the one before. */
  mark(): void {
    const seq = this.#newest?.change?.seq;
    if (seq === undefined || !this.#isConfirmed) return;
    // Without it the next start finds out by itself.
    this.#marking = this.#store.commit([this.#history.confirm(seq)], { sync: false }).catch(() => {});
  }

  async marked(): Promise<void> {
    await this.#marking;
  }

  /** The history was written by other means: it is looked at again. */
  forget(): void {
    this.#newest = undefined;
  }

  async commit(operations: readonly RecordOperation[]): Promise<void> {
    try {
      await this.#store.commit(operations, { sync: true });
    } catch (error) {
      this.forget();
      throw error;
    }
  }

  /** @throws AppError memory-unreadable where a missing file is not an empty one. */
  async checkMayMiss(path: string): Promise<void> {
    let newest: Change | undefined;
    try {
      newest = await this.newest();
    } catch (error) {
      throw new AppError('memory-unreadable', `${path} is missing, and its history cannot be read`, {
        details: { path, reason: 'missing' },
        cause: error,
      });
    }
    // The very first change may have been cut off before it made the file.
    const isCutOff = !this.#isConfirmed && newest?.base === versionOf([]);
    if (newest === undefined || newest.entries.length === 0 || isCutOff) return;
    const many = newest.entries.length;
    throw new AppError(
      'memory-unreadable',
      `${path} is missing while its history holds ${many} entries: bring it back, or create an empty file if that is meant`,
      { details: { path, reason: 'missing', entries: many } },
    );
  }

  now(): string {
    return new Date(this.#nowMs()).toISOString();
  }
}

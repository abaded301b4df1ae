/**
 * Group commit: everything that waits while one write runs goes down in the next one, with one sync.
 *
 * One write is in flight at a time. More would gain nothing, since LevelDB writes them
 * one after the other, and each that waits takes a thread of the pool from everybody else.
 */
import { AppError } from '../../../shared/errors.ts';
import type { Operation } from './engine.ts';
import { writeError } from './store-errors.ts';

/** Of one group; a commit is never split, so a larger one is a group of its own. */
const groupBytesMax = 4 * 1024 * 1024;
/** Of all that wait together. */
const waitingBytesMax = 64 * 1024 * 1024;
const waitingCommitsMax = 20_000;

export interface Commit {
  readonly operations: readonly Operation<string>[];
  readonly bytes: number;
  readonly sync: boolean;
  /** Whatever was written before is to be on the disk as well. */
  readonly flush: boolean;
}

export interface Group {
  readonly operations: Operation<string>[];
  sync: boolean;
  flush: boolean;
}

interface Waiting extends Commit {
  resolve(): void;
  reject(error: AppError): void;
}

export class CommitQueue {
  readonly #write: (group: Group) => Promise<void>;
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #idle: Promise<void> | undefined;
  #groups = 0;
  #commits = 0;

  /** @param write what it throws ends every commit that waits, too. */
  constructor(write: (group: Group) => Promise<void>) {
    this.#write = write;
  }

  get counts(): { waiting: number; groups: number; commits: number } {
    return { waiting: this.#waiting.length, groups: this.#groups, commits: this.#commits };
  }

  /** Takes its place in the order at once. */
  add(commit: Commit): Promise<void> {
    if (this.#waiting.length >= waitingCommitsMax || this.#waitingBytes + commit.bytes > waitingBytesMax) {
      const busy = new AppError('store-write-failed', 'too many writes wait for the disk');
      return Promise.reject(writeError(busy, 'not-stored'));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...commit, resolve, reject });
      this.#waitingBytes += commit.bytes;
      this.#idle ??= this.#run();
    });
  }

  /** Resolves when nothing waits and nothing runs. */
  async drain(): Promise<void> {
    while (this.#idle !== undefined) await this.#idle;
  }

  async #run(): Promise<void> {
    // After what else came in with the same chunk of a socket.
    await new Promise(setImmediate);
    while (this.#waiting.length > 0) await this.#writeGroup(this.#take());
    this.#idle = undefined;
  }

  #take(): Waiting[] {
    let bytes = 0;
    let count = 0;
    for (const commit of this.#waiting) {
      bytes += commit.bytes;
      if (count > 0 && bytes > groupBytesMax) break;
      count += 1;
    }
    const taken = this.#waiting.slice(0, count);
    this.#waiting = this.#waiting.slice(count);
    for (const commit of taken) this.#waitingBytes -= commit.bytes;
    return taken;
  }

  async #writeGroup(commits: readonly Waiting[]): Promise<void> {
    const group: Group = { operations: [], sync: false, flush: false };
    for (const { operations, sync, flush } of commits) {
      for (const operation of operations) group.operations.push(operation);
      group.sync ||= sync;
      group.flush ||= flush;
    }
    try {
      await this.#write(group);
    } catch (error) {
      const behind = this.#waiting;
      this.#waiting = [];
      this.#waitingBytes = 0;
      for (const commit of commits) commit.reject(writeError(error, 'unknown'));
      for (const commit of behind) commit.reject(writeError(error, 'not-stored'));
      return;
    }
    this.#groups += 1;
    this.#commits += commits.length;
    for (const commit of commits) commit.resolve();
  }
}

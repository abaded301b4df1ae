/** The index that answers: exchanged for another while it does, and told apart when it is damaged. */
import { existsSync, renameSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AppError } from '../../../shared/errors.ts';
import type { Log } from '../../../shared/log.ts';
import { OtherFormat } from '../recall/index/format.ts';
import { isDiskFull, reasonOf } from '../store/store-errors.ts';
import { FedIndex, type FeedSources } from './fed-index.ts';
import { finishForgetting } from './forget-session.ts';
import { Gate } from './gate.ts';
import { isDamage, isEngineError } from './index-faults.ts';
import type { OpenIndex } from './index-port.ts';

export interface LiveIndexOptions {
  readonly dir: string;
  readonly open: OpenIndex;
  readonly sources: FeedSources;
  readonly log: Log;
  readonly onRead: (session: string, records: number) => void;
  /** It is no longer `whole`: somebody should mend it. */
  readonly onDamage: () => void;
}

/**
 * `damaged`: it answers from what remains, and is to be rebuilt beside. `refilling`: it could not be opened, an empty
 * one has its place, and all is to be read again. `none`: not even an empty one could be made.
 */
export type Condition = 'whole' | 'damaged' | 'refilling' | 'none';

export const besideIndex = {
  /** Built by a reindex. */
  next: (dir: string) => `${dir}.next`,
  /** Built by a verify. */
  verify: (dir: string) => `${dir}.verify`,
  /** The one before, during an exchange. */
  old: (dir: string) => `${dir}.old`,
  /** The last one that was damaged, for whoever wants to know why; it is never read. */
  damaged: (dir: string) => `${dir}.damaged`,
};

export class LiveIndex {
  readonly #options: LiveIndexOptions;
  /** Together: those who use the index. Alone: who puts another in its place. */
  readonly #gate = new Gate();
  #fed: FedIndex | undefined;
  #condition: Condition = 'none';
  #isReopening = false;

  private constructor(options: LiveIndexOptions) {
    this.#options = options;
  }

  static async open(options: LiveIndexOptions): Promise<LiveIndex> {
    const live = new LiveIndex(options);
    await live.#tidy();
    await live.#open();
    return live;
  }

  get condition(): Condition {
    return this.#condition;
  }

  get dir(): string {
    return this.#options.dir;
  }

  /** For figures that may be a moment old. */
  get current(): FedIndex | undefined {
    return this.#fed;
  }

  /**
   * @throws AppError memory-index-damaged where there is none, or what was asked of it met damage; store-full or
   * store-write-failed where the disk failed, after which it is opened again
   */
  async use<R>(work: (fed: FedIndex) => Promise<R>): Promise<R> {
    return await this.#gate.together(async () => {
      const fed = this.#fed;
      if (fed === undefined) throw damaged('there is no recall index that could be opened');
      try {
        return await work(fed);
      } catch (error) {
        throw this.#failed(fed, error);
      } finally {
        if (fed.index.state === 'damaged') this.#damaged(fed, undefined);
      }
    });
  }

  /** Everything was read again into the one that took the place of what could not be opened. */
  refilled(): void {
    if (this.#condition !== 'refilling') return;
    this.#condition = 'whole';
    this.#options.log.info('the recall index is whole again');
  }

  /** Where there was none, another try; whether it holds everything is known when all was looked at. */
  async ensure(): Promise<void> {
    if (this.#condition !== 'none') return;
    await this.#gate.alone(() => this.#open());
    if (this.current !== undefined) this.#condition = 'refilling';
  }

  /** The index in `dir`, which is closed, answers from now on; nobody who asks meanwhile is refused. */
  async exchange(dir: string): Promise<void> {
    await this.#gate.alone(async () => {
      const isKept = this.#condition === 'damaged';
      const aside = isKept ? besideIndex.damaged(this.dir) : besideIndex.old(this.dir);
      await this.#close();
      await rm(aside, { recursive: true, force: true });
      renameSync(this.dir, aside);
      renameSync(dir, this.dir);
      await this.#open();
      await rm(besideIndex.old(this.dir), { recursive: true, force: true });
    });
  }

  async stop(): Promise<void> {
    await this.#gate.alone(() => this.#close());
  }

  /** What the caller is told; what is to be done about it is begun. */
  #failed(fed: FedIndex, error: unknown): unknown {
    if (isDamage(error)) {
      this.#damaged(fed, error);
      return damaged('the recall index is damaged and is being rebuilt', error);
    }
    if (!isEngineError(error)) return error;
    void this.#reopen(fed);
    const code = isDiskFull(error) ? 'store-full' : 'store-write-failed';
    return new AppError(code, `write to the recall index: ${reasonOf(error)}`, { cause: error });
  }

  #damaged(fed: FedIndex, error: unknown): void {
    if (this.#condition !== 'whole' || fed !== this.#fed) return;
    this.#condition = 'damaged';
    this.#options.log.error({ err: error, code: 'memory-index-damaged' }, 'the recall index is damaged');
    this.#options.onDamage();
  }

  /** A handle that failed to write may lose what it acknowledges later; the disk knows how far it came. */
  async #reopen(fed: FedIndex): Promise<void> {
    if (this.#isReopening || fed !== this.#fed) return;
    this.#isReopening = true;
    try {
      await this.#gate.alone(async () => {
        const before = this.#condition;
        await this.#close();
        await this.#open();
        // What was to be mended still is.
        if (this.current !== undefined && before !== 'none') this.#condition = before;
      });
    } finally {
      this.#isReopening = false;
    }
  }

  async #close(): Promise<void> {
    const fed = this.#fed;
    this.#fed = undefined;
    this.#condition = 'none';
    await fed?.index.close().catch((error: unknown) => {
      this.#options.log.warn({ err: error }, 'the recall index did not close in order');
    });
  }

  async #open(): Promise<void> {
    const { dir, log } = this.#options;
    await mkdir(dirname(dir), { recursive: true, mode: 0o700 });
    try {
      await this.#feed(dir);
      this.#condition = 'whole';
    } catch (error) {
      if (error instanceof OtherFormat) {
        await this.#upgrade(error);
        return;
      }
      log.error({ err: error, code: 'memory-index-damaged' }, 'the recall index cannot be used');
      // A full disk is no damage: there will be room again, and the index with it.
      if (isDiskFull(error)) await this.#close();
      else await this.#renew();
    }
  }

  /** Another version of this program wrote it: nothing is damaged, there is only everything to be read. */
  async #upgrade(error: OtherFormat): Promise<void> {
    this.#options.log.warn({ reason: error.message }, 'the recall index is of another version');
    await this.#renew();
    if (this.current !== undefined) this.#condition = 'whole';
  }

  /** It is derived, so one that was damaged is enough to keep for whoever wants to know what happened. */
  async #renew(): Promise<void> {
    const { dir, log, onDamage } = this.#options;
    const aside = besideIndex.damaged(dir);
    try {
      await this.#close();
      if (existsSync(dir)) {
        await rm(aside, { recursive: true, force: true });
        renameSync(dir, aside);
      }
      await this.#feed(dir);
      this.#condition = 'refilling';
      log.warn({ aside }, 'the recall index is read anew from the logs and records');
    } catch (error) {
      log.error({ err: error, code: 'memory-index-damaged' }, 'a new recall index cannot be made');
    }
    onDamage();
  }

  async #feed(dir: string): Promise<void> {
    const { sources, open, onRead } = this.#options;
    const index = await open({ dir, texts: sources.texts });
    const fed = new FedIndex(index, sources, onRead);
    this.#fed = fed;
    await sources.tombstones.load(index);
    await finishForgetting(fed, sources);
  }

  /** What a kill left of an exchange, a reindex or a verify. */
  async #tidy(): Promise<void> {
    const { dir } = this.#options;
    const old = besideIndex.old(dir);
    if (!existsSync(dir) && existsSync(old)) renameSync(old, dir);
    for (const left of [old, besideIndex.next(dir), besideIndex.verify(dir)])
      await rm(left, { recursive: true, force: true });
  }
}

function damaged(message: string, cause?: unknown): AppError {
  return new AppError('memory-index-damaged', message, cause === undefined ? {} : { cause });
}

/** The index that answers: exchanged for another while it does, and replaced by an empty one when it is damaged. */
import { existsSync, renameSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AppError } from '../../../shared/errors.ts';
import type { Log } from '../../../shared/log.ts';
import { FedIndex, type FeedSources } from './fed-index.ts';
import { finishForgetting } from './forget-session.ts';
import { Gate } from './gate.ts';
import type { IndexPort } from './index-port.ts';

export interface LiveIndexOptions {
  readonly dir: string;
  /** @throws what it likes where the folder holds no index that can be used; an empty folder becomes a new one */
  readonly open: (dir: string) => Promise<IndexPort>;
  readonly isDamage: (error: unknown) => boolean;
  readonly sources: FeedSources;
  readonly log: Log;
  readonly onRead: (session: string, records: number) => void;
  /** An empty index took the place of a damaged one: everything is to be read again. */
  readonly onReplaced: () => void;
}

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
  #replacing: Promise<void> | undefined;
  #isMending = false;

  private constructor(options: LiveIndexOptions) {
    this.#options = options;
  }

  static async open(options: LiveIndexOptions): Promise<LiveIndex> {
    const live = new LiveIndex(options);
    await live.#tidy();
    await live.#open();
    return live;
  }

  /** It was damaged, and what it holds now is not all yet. */
  get isMending(): boolean {
    return this.#isMending;
  }

  get dir(): string {
    return this.#options.dir;
  }

  /** Everything was read into it again. */
  mended(): void {
    if (this.#fed === undefined || !this.#isMending) return;
    this.#isMending = false;
    this.#options.log.info('the recall index is whole again');
  }

  /** @throws AppError memory-index-damaged where there is none, or it turns out to be damaged */
  async use<R>(work: (fed: FedIndex) => Promise<R>): Promise<R> {
    return await this.#gate.together(async () => {
      const fed = this.#fed;
      if (fed === undefined) throw damaged('there is no recall index that could be opened');
      try {
        return await work(fed);
      } catch (error) {
        if (!this.#options.isDamage(error)) throw error;
        this.#replace(fed, error);
        throw damaged('the recall index is damaged and is being rebuilt', error);
      }
    });
  }

  /** For what may be a moment old: figures of a status. */
  get current(): FedIndex | undefined {
    return this.#fed;
  }

  /** A replacement that was begun is done when this returns; an index that could not be opened is tried again. */
  async whole(): Promise<void> {
    await this.#replacing;
    if (this.#fed === undefined) await this.#gate.alone(() => this.#open());
  }

  /** The index in `dir`, which is closed, answers from now on; nobody who asks meanwhile is refused. */
  async exchange(dir: string): Promise<void> {
    await this.#gate.alone(async () => {
      const old = besideIndex.old(this.dir);
      await this.#fed?.index.close();
      this.#fed = undefined;
      await rm(old, { recursive: true, force: true });
      renameSync(this.dir, old);
      renameSync(dir, this.dir);
      await this.#open();
      await rm(old, { recursive: true, force: true });
    });
  }

  async stop(): Promise<void> {
    await this.#replacing;
    await this.#gate.alone(async () => {
      const fed = this.#fed;
      this.#fed = undefined;
      await fed?.index.close();
    });
  }

  #replace(fed: FedIndex, error: unknown): void {
    if (fed !== this.#fed || this.#replacing !== undefined) return;
    this.#options.log.error({ err: error, code: 'memory-index-damaged' }, 'the recall index is damaged');
    this.#replacing = this.#gate
      .alone(async () => {
        this.#fed = undefined;
        await fed.index.close().catch(() => undefined);
        await this.#renew();
      })
      .finally(() => {
        this.#replacing = undefined;
      });
    this.#replacing.catch((cause: unknown) => {
      this.#options.log.error({ err: cause, code: 'memory-index-damaged' }, 'no new recall index');
    });
  }

  async #open(): Promise<void> {
    const { dir, log } = this.#options;
    await mkdir(dirname(dir), { recursive: true, mode: 0o700 });
    try {
      await this.#feed(await this.#options.open(dir));
    } catch (error) {
      log.error({ err: error, code: 'memory-index-damaged' }, 'the recall index cannot be used');
      await this.#renew();
    }
  }

  /** The damaged one is kept aside, because somebody may want to know what happened; it is derived, so one is enough. */
  async #renew(): Promise<void> {
    const { dir, log, onReplaced } = this.#options;
    const aside = besideIndex.damaged(dir);
    this.#isMending = true;
    try {
      if (existsSync(dir)) {
        await rm(aside, { recursive: true, force: true });
        renameSync(dir, aside);
      }
      await this.#feed(await this.#options.open(dir));
      log.warn({ aside }, 'the recall index is rebuilt from the logs and records');
    } catch (error) {
      log.error({ err: error, code: 'memory-index-damaged' }, 'a new recall index cannot be made');
    }
    onReplaced();
  }

  async #feed(index: IndexPort): Promise<void> {
    const { sources, onRead } = this.#options;
    await sources.tombstones.load(index);
    const fed = new FedIndex(index, sources, onRead);
    await finishForgetting(fed, sources);
    this.#fed = fed;
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

/**
 * The life of the store in this process: opened once it was found whole, closed at the first sign that it
 * is not, opened again by itself after an error of the disk.
 *
 *   ready ── a write fails ──────> recovering ── opened, nothing lost ──> ready
 *     └──── damage, or lost ─────> damaged ──── recheck finds it mended ──> ready
 *
 * After one failed write LevelDB acknowledges every later one on that handle and loses
 * them at the next start. So a handle is never written again after an error.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../../../shared/errors.ts';
import type { DiskReserve } from './disk-reserve.ts';
import { type OpenedStore, openStore } from './open-store.ts';
import { mayReopen } from './reopening.ts';
import { isDiskFull, reasonOf } from './store-errors.ts';
import type { StoreFiles } from './store-files.ts';
import { fingerprintOf } from './store-fingerprint.ts';
import { StoreHandle } from './store-handle.ts';
import type { StoreLog } from './store-log.ts';
import { refusalOf, type StoreState, writeRefusalOf } from './store-state.ts';
import type { Durability, StoreWriter } from './store-writer.ts';
import type { ScrubStatus } from './tables-scrub.ts';

const retryMsMin = 100;
const retryMsMax = 5_000;

export interface StoreLifeOptions {
  readonly files: StoreFiles;
  readonly durable: Durability;
  readonly log: StoreLog;
  readonly lockWaitMs: number;
  readonly reserve: DiskReserve;
  /** Resolves when no write is under way any more. */
  readonly drain: () => Promise<void>;
}

export class StoreLife {
  readonly #options: StoreLifeOptions;
  readonly #closing = new AbortController();
  #state: StoreState = { kind: 'closed' };
  #handle: StoreHandle | undefined;
  #issued = 0;
  #isPoisoned = false;
  /** Recovering, rechecking or shutting down: one of them at a time. */
  #changing: Promise<void> = Promise.resolve();
  #restoring: Promise<void> = Promise.resolve();
  #recoveries = 0;
  /** Of the store that was last judged damaged or newer. */
  #judged = '';

  private constructor(options: StoreLifeOptions) {
    this.#options = options;
  }

  /** @throws AppError store-locked */
  static async open(options: StoreLifeOptions): Promise<StoreLife> {
    const life = new StoreLife(options);
    await life.#tryOpen();
    if (life.#state.kind === 'recovering') life.#change(() => life.#recover());
    return life;
  }

  get state(): StoreState {
    return this.#state;
  }

  get issued(): number {
    return this.#issued;
  }

  get recoveries(): number {
    return this.#recoveries;
  }

  get scrub(): ScrubStatus | undefined {
    return this.#handle?.scrub.status;
  }

  get opened(): OpenedStore | undefined {
    return this.#handle?.opened;
  }

  /** The next sequence number. It is in the store as soon as anything behind it is. @throws AppError by the state */
  issue(): number {
    this.assertWritable();
    this.#issued += 1;
    return this.#issued;
  }

  /** No number up to this one is issued from here on: records of an import bring theirs along. @throws AppError by the state */
  advanceTo(seq: number): void {
    this.assertWritable();
    this.#issued = Math.max(this.#issued, seq);
  }

  /** @throws AppError by the state, where not even reading is possible */
  reading(): StoreHandle {
    const mayRead = this.#state.kind === 'ready' || this.#state.kind === 'recovering';
    if (mayRead && this.#handle !== undefined) return this.#handle;
    throw this.#whyClosed();
  }

  /** @throws AppError by the state, with `outcome` `not-stored` */
  assertWritable(): void {
    if (this.#state.kind !== 'ready') throw writeRefusalOf(this.#state);
  }

  /** For what was accepted: that is finished after `close` was called, too. @throws AppError as `assertWritable` */
  writer(): StoreWriter {
    const mayWrite = this.#state.kind === 'ready' || (this.#state.kind === 'closed' && !this.#isPoisoned);
    if (mayWrite && this.#handle !== undefined) return this.#handle.writer;
    throw writeRefusalOf(this.#state.kind === 'ready' ? { kind: 'closed' } : this.#state);
  }

  /** A write failed: whatever the reason, this handle takes no other. */
  failed(error: unknown): void {
    this.#isPoisoned = true;
    if (this.#state.kind !== 'ready') return;
    if (error instanceof AppError && error.code === 'store-damaged') {
      this.#lose([error.message]);
      return;
    }
    this.#setFailed(error);
    this.#change(() => this.#recover());
  }

  /**
   * Looks again at a store that was damaged or too new, if anything about it has changed,
   * and uses it if it has been mended. @throws AppError store-locked
   */
  async recheck(): Promise<StoreState> {
    await this.#handle?.scrub.run();
    await this.#changing;
    if (this.#state.kind !== 'damaged' && this.#state.kind !== 'newer') return this.#state;
    if ((await fingerprintOf(this.#options.files)) === this.#judged) return this.#state;
    let thrown: unknown;
    this.#change(async () => {
      await this.#tryOpen().catch((error: unknown) => (thrown = error));
      if (this.#state.kind === 'recovering') await this.#recover();
    });
    await this.#changing;
    if (thrown !== undefined) throw thrown;
    return this.#state;
  }

  /** Waits for a check of the tables that is under way. */
  async scrubbed(): Promise<void> {
    const scrub = this.#handle?.scrub;
    if (scrub?.status.state === 'running') await scrub.run();
  }

  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return await this.#changing;
    const wasReady = this.#state.kind === 'ready';
    this.#closing.abort();
    this.#state = { kind: 'closed' };
    this.#change(() => this.#shut(wasReady));
    await this.#changing;
    await this.#restoring;
  }

  #whyClosed(): AppError {
    if (this.#state.kind !== 'ready') return refusalOf(this.#state);
    return new AppError('store-write-failed', 'read from the record store: it was opened anew meanwhile');
  }

  #change(change: () => Promise<void>): void {
    this.#changing = this.#changing.then(change).catch((error: unknown) => {
      this.#options.log.error({ err: error }, 'the store could not change its state');
    });
  }

  /** Sets the state by what was found. @throws AppError store-locked */
  async #tryOpen({ areTablesTrusted = false } = {}): Promise<void> {
    const { files, log, lockWaitMs } = this.#options;
    const judged = await fingerprintOf(files);
    const opening = await openStore({ files, log, lockWaitMs, areTablesTrusted });
    if (opening.kind === 'ready') {
      await this.#use(opening).catch((error: unknown) => this.#setFailed(error));
    } else if (opening.kind === 'failed') {
      this.#setFailed(opening.cause);
    } else {
      this.#judged = judged;
      this.#set(opening);
    }
  }

  async #use(opened: OpenedStore): Promise<void> {
    const { files, durable, log, reserve } = this.#options;
    this.#handle = await StoreHandle.open(opened, {
      files,
      durable,
      log,
      whyClosed: () => this.#whyClosed(),
      onDamage: (reasons) => this.#lose(reasons),
      onLost: (error) => this.failed(error),
    });
    this.#isPoisoned = false;
    this.#issued = Math.max(this.#issued, opened.mark.seq);
    this.#set({ kind: 'ready' });
    this.#handle.startScrub();
    this.#restoring = this.#restoring
      .then(() => reserve.restore())
      .catch((error: unknown) => log.warn({ err: error }, 'no disk space could be laid in'));
  }

  #set(state: StoreState): void {
    // Once closed it stays closed.
    if (this.#closing.signal.aborted) return;
    this.#state = state;
    if (state.kind === 'damaged') {
      this.#options.log.error(
        { code: 'store-damaged', reasons: state.reasons },
        'the record store is damaged',
      );
    } else if (state.kind === 'newer') {
      this.#options.log.error({ code: 'store-newer', format: state.format }, 'the record store is newer');
    }
  }

  #setFailed(error: unknown): void {
    const code = isDiskFull(error) ? 'store-full' : 'store-write-failed';
    const reasons = [reasonOf(error)];
    const isKnown = this.#state.kind === 'recovering' && this.#state.reasons[0] === reasons[0];
    this.#set({ kind: 'recovering', code, reasons });
    // Every few seconds, for as long as the disk is away: once is enough.
    if (!isKnown)
      this.#options.log.error({ code, reasons }, 'the record store is opened again after an error');
  }

  /** Opens it again and again until the disk is back. */
  async #recover(): Promise<void> {
    let delayMs = retryMsMin;
    while (this.#state.kind === 'recovering') {
      if (await this.#mayTry(this.#state.code === 'store-full')) {
        await this.#shut(false);
        await this.#tryOpen({ areTablesTrusted: true }).catch((error: unknown) => this.#setFailed(error));
      }
      if (this.#state.kind !== 'recovering') break;
      await sleep(delayMs, undefined, { signal: this.#closing.signal }).catch(() => {});
      delayMs = Math.min(delayMs * 2, retryMsMax);
    }
    if (this.#state.kind !== 'ready') return;
    this.#recoveries += 1;
    this.#options.log.info(
      { issued: this.#issued },
      'the record store is open again, nothing acknowledged is lost',
    );
  }

  /** Until it makes sense to try, the old handle goes on answering what is read. */
  async #mayTry(isFull: boolean): Promise<boolean> {
    const { files, reserve } = this.#options;
    await this.#restoring;
    try {
      if (this.#handle !== undefined) return await mayReopen(reserve, { dir: files.dir, isFull });
      if (isFull) await reserve.release();
      return true;
    } catch (error) {
      this.#setFailed(error);
      return false;
    }
  }

  /** Stops using a store that is not what was written, before LevelDB rewrites any of it. */
  #lose(reasons: readonly string[]): void {
    if (this.#state.kind !== 'ready') return;
    this.#set({ kind: 'damaged', reasons });
    this.#change(() => this.#shut(false));
  }

  /** @param isClean nothing went wrong, and the next start is to know it */
  async #shut(isClean: boolean): Promise<void> {
    const handle = this.#handle;
    if (handle === undefined) return;
    await this.#options.drain();
    this.#handle = undefined;
    await handle.close(isClean && !this.#isPoisoned);
  }
}

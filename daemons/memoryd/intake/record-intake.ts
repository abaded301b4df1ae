/** Keeps the index up with the record plane: soon after each record, and with what was missed. */
import { AppError } from '../../../shared/errors.ts';
import type { Log } from '../../../shared/log.ts';
import type { StoredRecord } from '../plane/context.ts';
import { Coalesced } from './coalesced.ts';
import type { Gate } from './gate.ts';
import type { LiveIndex } from './live-index.ts';
import { isFed } from './record-feed.ts';
import { within } from './waiting.ts';

/** Records that come together are read into the index together. */
const pauseMs = 20;

export interface RecordIntakeOptions {
  readonly live: LiveIndex;
  readonly feeding: Gate;
  readonly log: Log;
}

export class RecordIntake {
  readonly #options: RecordIntakeOptions;
  readonly #settling = new Coalesced<void>();
  #timer: NodeJS.Timeout | undefined;
  #isStopping = false;
  #failure: string | undefined;

  constructor(options: RecordIntakeOptions) {
    this.#options = options;
  }

  /** An index that is being exchanged meanwhile reads from the store what it is not told. */
  take(stored: StoredRecord): void {
    if (!isFed(stored.kind)) return;
    this.#options.live.current?.records.take(stored);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.settle().catch((error: unknown) => this.#failed(error));
    }, pauseMs).unref();
  }

  get behind(): number {
    return this.#options.live.current?.records.behind ?? 0;
  }

  /** What was stored before this call can be found when it returns. */
  async settle(): Promise<void> {
    await this.#settling.run('', () => this.#settle());
    this.#failure = undefined;
  }

  /** Likewise, also what was stored and never told of. */
  async sweep(): Promise<void> {
    this.#options.live.current?.records.recheck();
    await this.settle();
  }

  /** What was stored before this call can be found when it returns, or counts as behind. */
  async settleWithin(waitMs: number): Promise<void> {
    if (this.behind > 0) await within(this.settle(), waitMs);
  }

  stop(): void {
    this.#isStopping = true;
    clearTimeout(this.#timer);
  }

  async #settle(): Promise<void> {
    const { live, feeding } = this.#options;
    const mustMakeWay = () => this.#isStopping || feeding.isWanted;
    for (;;) {
      if (this.#isStopping) throw new AppError('stopping', 'read records into the index');
      const isDone = await feeding.together(() => live.use(({ records }) => records.settle(mustMakeWay)));
      if (isDone) return;
    }
  }

  /** A store that cannot be read says so itself, with each request; here once is enough. */
  #failed(error: unknown): void {
    const reason = error instanceof AppError ? error.code : String(error);
    if (this.#isStopping || reason === this.#failure) return;
    this.#failure = reason;
    this.#options.log.warn({ err: error }, 'records of runs are not read into the index');
  }
}

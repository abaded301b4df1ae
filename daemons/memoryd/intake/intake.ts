/**
 * Everything that recall can find, kept up with what was said and done: the session logs that loopd writes, and the
 * episodes and summaries of runs. It answers while it reads, while it rebuilds, and beside a damaged store.
 */
import { AppError } from '../../../shared/errors.ts';
import type { Log } from '../../../shared/log.ts';
import type { RecallParams } from '../../../shared/protocol/memoryd.ts';
import type { ForgetReply, RecallReply, VerifyReply } from '../../../shared/protocol/replies.ts';
import type { StoredRecord } from '../plane/context.ts';
import { Backlog } from './backlog.ts';
import { Coalesced } from './coalesced.ts';
import type { FeedSources } from './fed-index.ts';
import { finishForgetting } from './forget-session.ts';
import type { IntakeStore } from './intake-store.ts';
import { forget, type CuratedForgetting, type ForgetParams } from './forget.ts';
import { Gate } from './gate.ts';
import type { IndexState, OpenIndex } from './index-port.ts';
import { Jobs, type JobStatus } from './jobs.ts';
import { LiveIndex } from './live-index.ts';
import { LogIntake, type UpdatedReply } from './log-intake.ts';
import { compareWithRebuild, rebuild, type RebuildOptions } from './rebuild.ts';
import { RecordIntake } from './record-intake.ts';
import { SessionsFolder } from './sessions-folder.ts';
import { KeptTexts } from './texts.ts';
import { Tombstones } from './tombstones.ts';

/** Changes that nobody told of are found so often at the latest. */
const sweepEveryMs = 60_000;
/** A recall reads what came before it for so long, and says for the rest that it is behind. */
const settleMs = 100;
/** A longer line holds no record that anybody could say something about. */
export const lineBytesMaxDefault = 64 * 1024 * 1024;
/** Names in a status; of more, only the figure. */
const missingNamedMax = 100;

export interface IntakeOptions {
  readonly sessionsDir: string;
  readonly indexDir: string;
  readonly openIndex: OpenIndex;
  readonly store: IntakeStore;
  readonly curated: CuratedForgetting;
  readonly backups?: () => Promise<readonly string[]>;
  readonly lineBytesMax?: number;
  readonly nowMs: () => number;
  readonly log: Log;
}

export interface IntakeStatus {
  readonly index: { readonly state: IndexState; readonly behind: number; readonly [detail: string]: unknown };
  readonly sessions: {
    readonly logs: number;
    readonly missing: string[];
    readonly [detail: string]: unknown;
  };
  readonly jobs: Record<string, JobStatus>;
}

export class Intake {
  readonly #options: IntakeOptions;
  readonly #sources: FeedSources;
  readonly #backlog: Backlog;
  readonly #feeding = new Gate();
  readonly #jobs: Jobs;
  readonly #live: LiveIndex;
  readonly #logs: LogIntake;
  readonly #records: RecordIntake;
  readonly #rebuilds = new Coalesced<unknown>();
  #forgettings = 0;
  #isCaughtUp = false;
  #isStopping = false;
  #timer: NodeJS.Timeout | undefined;
  #catchingUp: Promise<void> | undefined;

  private constructor(
    options: IntakeOptions,
    sources: FeedSources,
    { live, backlog }: { live: LiveIndex; backlog: Backlog },
  ) {
    this.#options = options;
    this.#sources = sources;
    this.#jobs = new Jobs(options.nowMs);
    this.#live = live;
    this.#backlog = backlog;
    const { log, nowMs } = options;
    const shared = { live, feeding: this.#feeding, log };
    this.#logs = new LogIntake({ ...shared, ...sources, backlog, nowMs });
    this.#records = new RecordIntake(shared);
  }

  /** It answers when this returns; what it has missed it reads after `start`. */
  static async open(options: IntakeOptions): Promise<Intake> {
    const { sessionsDir, indexDir, openIndex, store, log } = options;
    const folder = new SessionsFolder(sessionsDir);
    const texts = new KeptTexts(folder, store);
    const tombstones = new Tombstones(store, log);
    const lineBytesMax = options.lineBytesMax ?? lineBytesMaxDefault;
    const sources = { folder, store, texts, tombstones, lineBytesMax, log };
    const backlog = new Backlog();
    let onDamage = () => {};
    const live = await LiveIndex.open({
      dir: indexDir,
      open: openIndex,
      sources,
      log,
      onRead: (session, records) => backlog.read(session, records),
      onDamage: () => onDamage(),
    });
    const intake = new Intake(options, sources, { live, backlog });
    onDamage = () => intake.#catchUpSoon();
    return intake;
  }

  /** Reads on by itself from here: at once what was missed, and then whatever comes. */
  start(): void {
    this.#logs.watch();
    this.#catchUpSoon();
  }

  async recall(params: RecallParams): Promise<RecallReply> {
    if (this.#isCaughtUp) {
      await this.#logs.settle(settleMs);
      await this.#records.settleWithin(settleMs);
    }
    return await this.#live.use(async ({ index }) => {
      if (this.#live.condition === 'refilling' && index.status()['turns'] === 0)
        throw new AppError(
          'memory-index-damaged',
          'the recall index was damaged and has nothing to answer with yet',
        );
      return await index.recall(params, {
        state: this.#state,
        behind: this.#behind,
        forgotten: this.#sources.tombstones.sessions,
      });
    });
  }

  async updated(session: string): Promise<UpdatedReply> {
    return await this.#logs.updated(session);
  }

  /** Told of each record of the record plane after it was stored. */
  onRecord(stored: StoredRecord): void {
    this.#records.take(stored);
  }

  /** Everything on the disk before this call can be found when it returns. */
  async caughtUp(): Promise<void> {
    await this.#catchUp();
  }

  /** Builds the index anew while the one before answers. @returns how many records it read */
  async reindex(): Promise<{ state: string; records: number }> {
    const work = () => this.#jobs.run('reindex', () => rebuild(this.#rebuildOptions()));
    const records = (await this.#rebuilds.run('reindex', work)) as number;
    return { state: this.#state, records };
  }

  /** Whether the index equals a rebuild, and where not. */
  async verify(): Promise<VerifyReply['index']> {
    const work = () => this.#jobs.run('verify', () => compareWithRebuild(this.#rebuildOptions()));
    return (await this.#rebuilds.run('verify', work)) as VerifyReply['index'];
  }

  async forget(params: ForgetParams): Promise<ForgetReply> {
    const { store, curated, nowMs, backups = () => Promise.resolve([]) } = this.#options;
    const options = { sources: this.#sources, store, curated, nowMs, backups };
    return await this.#feeding.alone(() =>
      this.#live.use(async (fed) => {
        this.#forgettings += 1;
        return await this.#jobs.run('forget', () => forget(options, fed, params));
      }),
    );
  }

  /** Tombstones came into the store by another way, as by an import. */
  async reloadForgotten(): Promise<void> {
    await this.#feeding.alone(() =>
      this.#live.use(async (fed) => {
        this.#forgettings += 1;
        await this.#sources.tombstones.load(fed.index);
        await finishForgetting(fed, this.#sources);
      }),
    );
  }

  status(): IntakeStatus {
    const { missing, logs, troubles } = this.#logs;
    return {
      index: {
        ...this.#live.current?.index.status(),
        state: this.#state,
        behind: this.#behind,
        forgotten: this.#sources.tombstones.sessions,
      },
      sessions: {
        ...troubles.status(),
        logs,
        missing: missing.slice(0, missingNamedMax),
        missing_count: missing.length,
      },
      jobs: this.#jobs.status(),
    };
  }

  /** What is being read ends between two batches, and stays read. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#timer);
    this.#logs.stop();
    this.#records.stop();
    await this.#catchingUp?.catch(() => undefined);
    await this.#live.stop();
  }

  get #behind(): number {
    return this.#backlog.behind + this.#records.behind;
  }

  get #state(): IndexState {
    if (this.#live.condition !== 'whole') return 'damaged';
    return this.#isCaughtUp && this.#behind === 0 ? 'ok' : 'catching-up';
  }

  #rebuildOptions(): RebuildOptions {
    return {
      live: this.#live,
      sources: this.#sources,
      open: this.#options.openIndex,
      feeding: this.#feeding,
      forgettings: () => this.#forgettings,
      isStopping: () => this.#isStopping,
    };
  }

  #catchUpSoon(): void {
    if (this.#isStopping) return;
    clearTimeout(this.#timer);
    this.#catchingUp = this.#catchUp()
      .catch((error: unknown) => {
        if (!this.#isStopping)
          this.#options.log.error({ err: error }, 'the recall index is not up with the logs');
      })
      .then(() => {
        if (!this.#isStopping) this.#timer = setTimeout(() => this.#catchUpAgain(), sweepEveryMs).unref();
      });
  }

  /** The watch is laid anew, because the folder may have been replaced under it. */
  #catchUpAgain(): void {
    this.#logs.watch();
    this.#catchUpSoon();
  }

  async #catchUp(): Promise<void> {
    await this.#live.ensure();
    if (this.#live.condition === 'damaged') await this.reindex();
    const [logs, records] = await Promise.allSettled([
      this.#jobs.run('catch_up', () => this.#logs.sweep()),
      this.#jobs.run('catch_up_records', () => this.#records.sweep()),
    ]);
    if (logs.status === 'rejected') throw logs.reason;
    this.#isCaughtUp = true;
    this.#live.refilled();
    if (records.status === 'rejected') throw records.reason;
  }
}

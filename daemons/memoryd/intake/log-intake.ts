/** Keeps the index up with the session logs: when told, when the folder changes, and by looking now and then. */
import { setImmediate } from 'node:timers/promises';
import { AppError } from '../../../shared/errors.ts';
import type { Log } from '../../../shared/log.ts';
import { isSessionId } from '../../../shared/protocol/sessions.ts';
import { Backlog } from './backlog.ts';
import { Coalesced } from './coalesced.ts';
import type { FedIndex } from './fed-index.ts';
import { forgetSession } from './forget-session.ts';
import type { Gate } from './gate.ts';
import { Lanes } from './lanes.ts';
import type { LiveIndex } from './live-index.ts';
import { LogTroubles } from './log-troubles.ts';
import type { FeedResult } from './session-feed.ts';
import type { SessionProgress } from './session-progress.ts';
import type { Listing, SessionsFolder } from './sessions-folder.ts';
import type { KeptTexts } from './texts.ts';
import type { Tombstones } from './tombstones.ts';
import { within } from './waiting.ts';

/** A request says how many records are behind rather than wait longer for a huge log. */
const updatedWaitMs = 10_000;
/** Logs that are read at the same time. */
const readersMax = 4;
/** Changes of the folder are gathered for so long: a turn writes several lines. */
const watchPauseMs = 500;
/** Changed logs that a recall reads before it answers; the rest counts as behind. */
const settledMax = 64;

export interface LogIntakeOptions {
  readonly live: LiveIndex;
  readonly folder: SessionsFolder;
  readonly texts: KeptTexts;
  readonly tombstones: Tombstones;
  readonly backlog: Backlog;
  /** Together: who reads. Alone: who needs that nothing is read meanwhile. */
  readonly feeding: Gate;
  readonly nowMs: () => number;
  readonly log: Log;
}

export interface UpdatedReply {
  readonly session: string;
  /** Records of the session that can be found, or hold nothing to find. */
  readonly indexed: number;
  readonly behind: number;
}

export class LogIntake {
  readonly #options: LogIntakeOptions;
  readonly #reads = new Coalesced<FeedResult>();
  readonly #sweeps = new Coalesced<void>();
  readonly #lanes = new Lanes(readersMax);
  readonly #changed = new Set<string>();
  readonly troubles = new LogTroubles();
  #watchTimer: NodeJS.Timeout | undefined;
  #isStopping = false;
  #missing: readonly string[] = [];
  logs = 0;

  constructor(options: LogIntakeOptions) {
    this.#options = options;
  }

  /** Sessions in the index of which there is no log, though nobody said that it is gone. */
  get missing(): readonly string[] {
    const { tombstones } = this.#options;
    return this.#missing.filter((session) => tombstones.get(session)?.whole !== true);
  }

  /**
   * @throws AppError session-unknown where there is no log and never was
   */
  async updated(session: string): Promise<UpdatedReply> {
    if (!isSessionId(session)) throw unknown(session);
    const result = await within(this.#readOrDefer(session), updatedWaitMs);
    if (result === undefined) return await this.#stillReading(session);
    switch (result.outcome) {
      case 'read':
        return { session, indexed: result.counts.records, behind: 0 };
      case 'forgotten':
        return { session, indexed: 0, behind: 0 };
      case 'absent':
        return await this.#absent(session);
    }
  }

  /** Looks at every log and reads those that grew. Who asks while it runs waits for one more. */
  async sweep(): Promise<void> {
    await this.#sweeps.run('', () => this.#sweep());
  }

  /** What was written before this call can be found when it returns, or counts as behind. */
  async settle(waitMs: number): Promise<void> {
    // Word of a change that came before the question may still wait to be heard: one round of the loop for it.
    await setImmediate();
    await setImmediate();
    if (this.#changed.size === 0) return;
    const sessions = [...this.#changed].slice(0, settledMax);
    await within(Promise.allSettled(sessions.map((session) => this.#read(session))), waitMs);
    for (const session of this.#changed) await this.#count(session);
  }

  watch(): void {
    this.#options.folder.watch((session) => {
      this.#changed.add(session);
      this.#watchTimer ??= setTimeout(() => this.#readChanged(), watchPauseMs).unref();
    });
  }

  /** Readings end between two batches; what is read stays read. */
  stop(): void {
    this.#isStopping = true;
    this.#options.folder.unwatch();
    clearTimeout(this.#watchTimer);
  }

  #readChanged(): void {
    this.#watchTimer = undefined;
    for (const session of this.#changed)
      this.#read(session).catch((error: unknown) => this.#failed(session, error));
  }

  #read(session: string): Promise<FeedResult> {
    return this.#reads.run(session, () => this.#lanes.run(() => this.#readOn(session)));
  }

  /** What a damaged index cannot take, the one that is built beside it reads. */
  async #readOrDefer(session: string): Promise<FeedResult | undefined> {
    try {
      return await this.#read(session);
    } catch (error) {
      if (error instanceof AppError) {
        if (error.code === 'memory-index-damaged') return undefined;
        throw error;
      }
      throw new AppError('session-damaged', `the log of session ${session} cannot be read`, { cause: error });
    }
  }

  async #readOn(session: string): Promise<FeedResult> {
    const { live, feeding, backlog } = this.#options;
    this.#changed.delete(session);
    const mustMakeWay = () => this.#isStopping || feeding.isWanted;
    for (;;) {
      if (this.#isStopping) throw new AppError('stopping', `read the log of session ${session}`);
      const result = await feeding.together(() =>
        live.use(({ sessions }) => sessions.read(session, mustMakeWay)),
      );
      if (result.outcome === 'read') this.troubles.noteLines(session, result.counts);
      if (result.outcome === 'read' && !result.isComplete) continue;
      backlog.done(session);
      this.troubles.readable(session);
      return result;
    }
  }

  async #stillReading(session: string): Promise<UpdatedReply> {
    const { live, backlog } = this.#options;
    if (backlog.behindOf(session) === undefined) await this.#count(session);
    return await live.use(async ({ sessions }) => ({
      session,
      behind: backlog.behindOf(session) ?? 0,
      indexed: sessions.progressOf(session)?.counts.records ?? 0,
    }));
  }

  /** The log is gone. Whether the session is forgotten by that depends on whether it is gone alone. */
  async #absent(session: string): Promise<UpdatedReply> {
    const { live, feeding, tombstones } = this.#options;
    return await feeding.alone(() =>
      live.use(async (fed) => {
        const progress = fed.sessions.progressOf(session);
        if (progress === undefined) {
          if (tombstones.get(session)?.whole === true) return { session, indexed: 0, behind: 0 };
          throw unknown(session);
        }
        if (!(await this.#isGoneOnPurpose(session, progress))) {
          this.#options.log.warn(
            { session },
            'the session has no log, and neither has any other: it is kept',
          );
          return { session, indexed: progress.counts.records, behind: 0 };
        }
        await forgetSession(fed, { session, ...this.#options });
        this.troubles.readable(session);
        return { session, indexed: 0, behind: 0 };
      }),
    );
  }

  /** A folder with other logs is the right one; so is an empty one that is still the folder in which this log lay. */
  async #isGoneOnPurpose(session: string, progress: SessionProgress): Promise<boolean> {
    const { folder } = this.#options;
    if ((await folder.stat(session)) !== undefined) return false;
    const mark = folder.mark();
    if (mark === undefined) return false;
    const others = await folder.sessions();
    if (others.length > 0) return true;
    return progress.folder === mark;
  }

  async #sweep(): Promise<void> {
    const { folder, live, backlog, log } = this.#options;
    const listing = await folder.list();
    this.logs = listing.logs.length;
    const unread = await live.use(async (fed) => {
      await this.#noteMissing(fed, listing);
      return fed.unread(listing.logs);
    });
    backlog.uncounted(unread.length);
    backlog.retain(new Set(unread.map(({ session }) => session)));
    for (const [at, { session }] of unread.entries()) {
      if (this.#isStopping) return;
      await this.#count(session);
      backlog.uncounted(unread.length - at - 1);
    }
    for (const { session } of unread) {
      if (this.#isStopping) return;
      try {
        await this.#read(session);
      } catch (error) {
        if (error instanceof AppError && error.code === 'memory-index-damaged') throw error;
        this.#failed(session, error);
      }
    }
    if (unread.length > 0) log.debug({ logs: unread.length }, 'read session logs on');
  }

  async #count(session: string): Promise<void> {
    const { live, backlog, tombstones, folder } = this.#options;
    if (tombstones.get(session)?.whole === true) return;
    try {
      await live.use(async ({ sessions }) => {
        const read = sessions.progressOf(session)?.counts.records ?? 0;
        backlog.counted(session, { read, behind: await sessions.behind(session) });
        // It may have been read to its end while it was counted.
        const file = await folder.stat(session);
        if (file === undefined || sessions.isRead(session, file)) backlog.done(session);
      });
    } catch (error) {
      if (error instanceof AppError) throw error;
      this.#failed(session, error);
    }
  }

  /** A folder that is not mounted must not become a mass forgetting: what is missing is told, and stays. */
  async #noteMissing(fed: FedIndex, { logs }: Listing): Promise<void> {
    const present = new Set(logs.map(({ session }) => session));
    const known = await fed.knownSessions();
    const missing = known.filter((session) => !present.has(session));
    if (missing.length > this.#missing.length)
      this.#options.log.warn({ missing: missing.length }, 'sessions without a log are kept in the index');
    this.#missing = missing;
    for (const session of present) {
      const counts = fed.sessions.progressOf(session)?.counts;
      if (counts !== undefined) this.troubles.noteLines(session, counts);
    }
  }

  #failed(session: string, error: unknown): void {
    if (this.#isStopping) return;
    this.#options.backlog.done(session);
    if (this.troubles.failed(session, error))
      this.#options.log.error(
        { err: error, session, code: 'session-damaged' },
        'a session log cannot be read',
      );
  }
}

function unknown(session: string): AppError {
  return new AppError('session-unknown', `there is no session ${JSON.stringify(session.slice(0, idShown))}`);
}

/** Of an id that is none, in a message. */
const idShown = 128;

/** The sessions in use, each once; an unused one costs nothing and is opened again from its log. */
import { AppError } from '../../../shared/errors.ts';
import { LiveSession, type LiveSessionOptions, type Watcher } from './live-session.ts';
import type { Untold } from './untold.ts';

interface LiveSessionsOptions extends LiveSessionOptions {
  readonly untold: Untold;
  /** A session is no longer in use: what was kept for it can go. */
  readonly onUnused: (id: string) => void;
}

export class LiveSessions {
  readonly #options: LiveSessionsOptions;
  readonly #live = new Map<string, LiveSession>();
  #isStopping = false;

  constructor(options: LiveSessionsOptions) {
    this.#options = options;
  }

  get running(): { session: string; turn: number }[] {
    return [...this.#live.values()].flatMap(({ id, runningTurn }) =>
      runningTurn === undefined ? [] : [{ session: id, turn: runningTurn }],
    );
  }

  /** @throws AppError stopping */
  get(id: string): LiveSession {
    if (this.#isStopping) throw new AppError('stopping', 'loopd is stopping: send it again soon');
    let live = this.#live.get(id);
    if (live === undefined) {
      live = new LiveSession(id, this.#options);
      this.#live.set(id, live);
    }
    return live;
  }

  /** The session where it is in use. */
  known(id: string): LiveSession | undefined {
    return this.#live.get(id);
  }

  /** Does something with a session and lets go of it if nobody uses it afterwards. */
  async with<T>(id: string, work: (live: LiveSession) => Promise<T>): Promise<T> {
    const live = this.get(id);
    try {
      return await work(live);
    } finally {
      this.tidy(id);
    }
  }

  tidy(id: string): void {
    if (this.#live.get(id)?.isInUse !== false) return;
    this.#live.delete(id);
    this.#options.onUnused(id);
  }

  /** A client is gone: what it started goes on. */
  forgetWatcher(watcher: Watcher): void {
    for (const live of this.#live.values()) {
      if (live.watchers.delete(watcher)) this.tidy(live.id);
    }
  }

  exclusively<T>(id: string, work: () => Promise<T>): Promise<T> {
    return this.with(id, (live) => live.exclusively(work));
  }

  /** Deletes the log, then sees to it that memoryd learns of it. @throws AppError session-unknown, session-busy */
  async delete(id: string): Promise<void> {
    const { sessions, untold } = this.#options;
    await this.exclusively(id, async () => {
      if (!(await sessions.has(id))) {
        throw new AppError('session-unknown', `there is no session ${id}`, { details: { session: id } });
      }
      await untold.add(id);
      try {
        await sessions.delete(id);
      } catch (thrown) {
        await untold.remove(id);
        throw thrown;
      }
      this.known(id)?.watchers.clear();
    });
    await untold.tell(id);
  }

  /** Takes nothing new, and waits for the turns that run, up to a time; what is not over by then goes on after the next start. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, graceMs);
    });
    await Promise.race([Promise.all([...this.#live.values()].map((live) => live.idle())), late]);
    clearTimeout(timer);
    for (const live of this.#live.values()) live.abandon();
  }
}

/** The folder of session logs: list, create, open, import, forget, delete. One process holds it; the daemon sees to that. */
import { randomBytes } from 'node:crypto';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../../shared/errors.ts';
import {
  isSessionId,
  sessionLogSuffix,
  type SessionBodies,
  type SessionBody,
} from '../../../shared/protocol/sessions.ts';
import { ArrivingLog } from './arriving-log.ts';
import { withoutTurns } from './forget.ts';
import { Session } from './session.ts';
import {
  defaultMode,
  syncDirectory,
  temporarySuffix,
  type DatedBody,
  type LogOptions,
  type Mended,
} from './session-log.ts';
import { readSummary, type SessionSummary } from './summary.ts';

/** Sessions that are open at once; the one that was used longest ago is closed for another. */
const openSessionsMax = 128;
const listMax = 1000;
const readsAtOnce = 16;

export interface SessionPage {
  readonly sessions: readonly SessionSummary[];
  readonly next?: string;
}

export class Sessions {
  readonly directory: string;
  readonly #options: LogOptions;
  readonly #open = new Map<string, Promise<Session>>();
  /** Hears of each log whose end a crash left torn, when it was put right. */
  onMended: (id: string, mended: Mended) => void = () => {};
  readonly #summaries = new Map<string, { stamp: string; summary: SessionSummary | undefined }>();

  constructor(directory: string, options: LogOptions = {}) {
    this.directory = directory;
    this.#options = options;
  }

  /** Sorts by date of birth and is unlikely to be met twice. */
  newId(): string {
    const now = new Date((this.#options.nowMs ?? Date.now)()).toISOString();
    return `${now.slice(0, 19).replaceAll(/[-:]/g, '')}-${randomBytes(4).toString('hex')}`;
  }

  /** Removes what a crash in the middle of a creation left; call once, before anything else. */
  async sweep(): Promise<void> {
    for (const name of await readdir(this.directory))
      if (name.endsWith(sessionLogSuffix + temporarySuffix))
        await rm(join(this.directory, name), { force: true });
  }

  /** Most recently used first; `cursor` is the `next` of the page before. */
  async list({ limit = 50, cursor }: { limit?: number; cursor?: string } = {}): Promise<SessionPage> {
    const all = (await this.#readSummaries()).toSorted(byAge);
    const from = cursor === undefined ? 0 : all.findIndex((summary) => cursorOf(summary) < cursor);
    const sessions = from < 0 ? [] : all.slice(from, from + Math.min(limit, listMax));
    const last = sessions.at(-1);
    return last && last !== all.at(-1) ? { sessions, next: cursorOf(last) } : { sessions };
  }

  async has(id: string): Promise<boolean> {
    return isSessionId(id) && (await exists(this.#path(id)));
  }

  /** Whether any log is there: an empty folder may be one that was not mounted. */
  async isEmpty(): Promise<boolean> {
    return (await readdir(this.directory)).every((name) => !name.endsWith(sessionLogSuffix));
  }

  /** @throws AppError rejected (there is such a session, or the id is none), session-write-failed, store-full */
  create(session: SessionBodies['session']): Promise<Session> {
    return this.import(session.id, [{ body: { type: 'session', ...session } }]);
  }

  /**
   * Creates a session whole, from its first record on, with the dates that are given. Its last turn is closed where
   * nothing answers it, so that nobody takes it for one that was broken off.
   */
  async import(id: string, records: Iterable<DatedBody> | AsyncIterable<DatedBody>): Promise<Session> {
    if (!isSessionId(id)) throw new AppError('rejected', `${JSON.stringify(id)} is no id of a session`);
    const path = this.#path(id);
    if (this.#open.has(id) || (await exists(path)))
      throw new AppError('rejected', `there is a session ${id} already`, {
        details: { field: 'id', value: id },
      });
    return this.#keep(id, () => Session.create(path, closed(records), this.#options));
  }

  /** A log that comes byte for byte; the session is there when it is finished. @throws AppError session-write-failed, store-full */
  arrive(id: string): Promise<ArrivingLog> {
    return ArrivingLog.begin(this.#path(id), this.#options.mode ?? defaultMode);
  }

  /** @throws AppError session-unknown, session-damaged, session-write-failed */
  open(id: string): Promise<Session> {
    if (!isSessionId(id)) return Promise.reject(unknown(id));
    return this.#keep(id, async () => {
      try {
        const session = await Session.open(this.#path(id), this.#options);
        if (session.log.mended !== undefined) this.onMended(id, session.log.mended);
        return session;
      } catch (error) {
        throw error instanceof AppError && error.code === 'session-unknown' ? unknown(id) : error;
      }
    });
  }

  /** Closes the file; the session stays on the disk. */
  async close(id: string): Promise<void> {
    const session = await this.#open.get(id)?.catch(() => undefined);
    this.#open.delete(id);
    await session?.close();
  }

  /** @throws AppError session-unknown, session-busy */
  async delete(id: string): Promise<void> {
    if (!(await this.has(id))) throw unknown(id);
    await this.#mustBeIdle(id);
    await this.close(id);
    await rm(this.#path(id), { force: true });
    await syncDirectory(this.directory);
    this.#summaries.delete(id);
  }

  /**
   * Takes turns out of a session: the one case in which a log is replaced, whole or not at all. `forgotten` counts
   * the turns that were there.
   * @throws AppError session-unknown, session-damaged, session-busy, session-write-failed
   */
  async forget(id: string, turns: ReadonlySet<number>): Promise<{ session: Session; forgotten: number }> {
    const old = await this.open(id);
    await this.#mustBeIdle(id);
    old.isBusy = true;
    const seen = new Set<number>();
    async function* records() {
      for await (const record of old.log.records()) {
        if (record.type === 'turn' && turns.has(record.turn)) seen.add(record.turn);
        yield record;
      }
    }
    try {
      const session = await Session.create(old.log.path, withoutTurns(records(), turns), this.#options);
      this.#open.set(id, Promise.resolve(session));
      await old.close();
      return { session, forgotten: seen.size };
    } finally {
      old.isBusy = false;
    }
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#open.keys()].map((id) => this.close(id)));
  }

  #path(id: string): string {
    return join(this.directory, id + sessionLogSuffix);
  }

  #keep(id: string, make: () => Promise<Session>): Promise<Session> {
    const known = this.#open.get(id);
    if (known) {
      // Last in the map is the one that was used last.
      this.#open.delete(id);
      this.#open.set(id, known);
      return known;
    }
    const made = make();
    this.#open.set(id, made);
    made.then(
      () => this.#closeOldest(),
      () => this.#open.delete(id),
    );
    return made;
  }

  async #closeOldest(): Promise<void> {
    for (const [id, opened] of this.#open) {
      if (this.#open.size <= openSessionsMax) return;
      const session = await opened.catch(() => undefined);
      if (session && !session.isBusy && this.#open.get(id) === opened) {
        this.#open.delete(id);
        await session.close().catch(() => undefined);
      }
    }
  }

  async #mustBeIdle(id: string): Promise<void> {
    const session = await this.#open.get(id)?.catch(() => undefined);
    if (session?.isBusy)
      throw new AppError('session-busy', `session ${id} is running a turn`, { details: { session: id } });
  }

  async #readSummaries(): Promise<SessionSummary[]> {
    const names = (await readdir(this.directory)).filter((name) => name.endsWith(sessionLogSuffix));
    const found: SessionSummary[] = [];
    for (let at = 0; at < names.length; at += readsAtOnce) {
      const some = names.slice(at, at + readsAtOnce).map((name) => this.#summary(name));
      for (const summary of await Promise.all(some)) if (summary) found.push(summary);
    }
    return found;
  }

  async #summary(name: string): Promise<SessionSummary | undefined> {
    const id = name.slice(0, -sessionLogSuffix.length);
    const path = join(this.directory, name);
    try {
      const { mtimeMs, size, ino } = await stat(path);
      const stamp = `${ino} ${size} ${mtimeMs}`;
      const known = this.#summaries.get(id);
      if (known?.stamp === stamp) return known.summary;
      const read = await readSummary(path);
      // The name of the file is the id by which the session is opened.
      const summary = read && isSessionId(id) ? { ...read, id } : undefined;
      this.#summaries.set(id, { stamp, summary });
      return summary;
    } catch (error) {
      // Deleted since the folder was read.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }
}

async function* closed(records: Iterable<DatedBody> | AsyncIterable<DatedBody>): AsyncGenerator<DatedBody> {
  let last: DatedBody | undefined;
  let turn: number | undefined;
  for await (const record of records) {
    yield record;
    last = record;
    if (record.body.type === 'turn') turn = record.body.turn;
    else if (record.body.type === 'end' && record.body.turn === turn) turn = undefined;
  }
  if (!last || turn === undefined) return;
  const isAnswered = last.body.type === 'assistant' && !last.body.calls;
  const body: SessionBody = { type: 'end', turn, outcome: isAnswered ? 'answer' : 'cancelled' };
  yield last.at === undefined ? { body } : { body, at: last.at };
}

function byAge(a: SessionSummary, b: SessionSummary): number {
  return cursorOf(a) < cursorOf(b) ? 1 : -1;
}

/** Whether a list may have given it; the session that it names may be gone since. */
export function isCursor(cursor: string): boolean {
  const space = cursor.lastIndexOf(' ');
  return space > 0 && isSessionId(cursor.slice(space + 1));
}

function cursorOf({ updatedAt, id }: SessionSummary): string {
  return `${updatedAt} ${id}`;
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

function unknown(id: string): AppError {
  return new AppError('session-unknown', `there is no session ${JSON.stringify(id)}`, {
    details: { session: id },
  });
}

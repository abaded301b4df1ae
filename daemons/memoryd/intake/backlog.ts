/** How many records are on the disk and cannot be found yet, session by session. */

interface Waiting {
  /** Records of the session that will have been read when nothing is behind. */
  readonly goal: number;
  behind: number;
}

export class Backlog {
  readonly #sessions = new Map<string, Waiting>();
  #uncounted = 0;
  #behind = 0;

  /** Logs that were found to have grown and are not counted yet stand for one record each, which is the least. */
  get behind(): number {
    return this.#behind + this.#uncounted;
  }

  uncounted(logs: number): void {
    this.#uncounted = logs;
  }

  /** `read` records of the session can be found, `behind` more cannot. */
  counted(session: string, { read, behind }: { read: number; behind: number }): void {
    this.done(session);
    if (behind === 0) return;
    this.#sessions.set(session, { goal: read + behind, behind });
    this.#behind += behind;
  }

  /** Of one session; undefined where it was not counted. */
  behindOf(session: string): number | undefined {
    return this.#sessions.get(session)?.behind;
  }

  /** So many of its records can be found now. */
  read(session: string, records: number): void {
    const waiting = this.#sessions.get(session);
    if (waiting === undefined) return;
    const behind = Math.max(0, waiting.goal - records);
    this.#behind += behind - waiting.behind;
    waiting.behind = behind;
  }

  /** Every other session has nothing that waits: another index may have read what this one had not. */
  retain(sessions: ReadonlySet<string>): void {
    for (const session of this.#sessions.keys()) if (!sessions.has(session)) this.done(session);
  }

  done(session: string): void {
    this.#behind -= this.#sessions.get(session)?.behind ?? 0;
    this.#sessions.delete(session);
  }
}

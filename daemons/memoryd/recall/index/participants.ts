/** In which sessions each named speaker took part. */

export class Participants {
  readonly #sessions = new Map<number, number[]>();

  add(speaker: number, session: number): void {
    if (speaker === 0) return;
    const sessions = this.#sessions.get(speaker);
    if (sessions === undefined) this.#sessions.set(speaker, [session]);
    // Turns of one session mostly come in a row; a session that comes again is told apart by who reads.
    else if (sessions.at(-1) !== session) sessions.push(session);
  }

  /** A session may come more than once, and may have been forgotten since. */
  of(speaker: number): readonly number[] {
    return this.#sessions.get(speaker) ?? [];
  }
}

/**
 * Which slot of a llama-server serves which session. A prompt that is sent without a slot may push another session's
 * prompt out of the cache, so each session keeps its own, and requests beside them have a spare one, if there is one.
 */
export class Slots {
  readonly #sessionSlots: number;
  /** Slot by session, the one used longest ago first. */
  readonly #bySession = new Map<string, number>();
  /** Requests under way, by slot. */
  readonly #asking = new Map<number, number>();

  constructor(total: number) {
    this.#sessionSlots = Math.max(1, total - 1);
    this.spare = total > 1 ? total - 1 : undefined;
  }

  /** For requests that belong to no session; undefined where every slot is a session's. */
  readonly spare: number | undefined;

  /** The slot for a request of the session, which is then asking until `done`. */
  take(session: string): { slot: number; done: () => void } {
    const slot = this.#bySession.get(session) ?? this.#free();
    this.#bySession.delete(session);
    this.#bySession.set(session, slot);
    this.#asking.set(slot, (this.#asking.get(slot) ?? 0) + 1);
    return { slot, done: () => this.#asking.set(slot, (this.#asking.get(slot) ?? 1) - 1) };
  }

  release(session: string): void {
    this.#bySession.delete(session);
  }

  /** One that no session has, else that of the session whose last request is longest ago, of those that ask nothing now. */
  #free(): number {
    const taken = new Set(this.#bySession.values());
    for (let slot = 0; slot < this.#sessionSlots; slot += 1) if (!taken.has(slot)) return slot;
    const sessions = [...this.#bySession];
    const [oldest, slot] = sessions.find(([, held]) => !this.#asking.get(held)) ?? sessions[0]!;
    this.#bySession.delete(oldest);
    return slot;
  }
}

/**
 * Which slot of a llama-server serves which session. A prompt that is sent without a slot may push another session's
 * prompt out of the cache, so each session keeps its own, and requests beside them have a spare one, if there is one.
 */
export class Slots {
  readonly #sessionSlots: number;
  /** Slot by session, the one used longest ago first. */
  readonly #bySession = new Map<string, number>();

  constructor(total: number) {
    this.#sessionSlots = Math.max(1, total - 1);
    this.spare = total > 1 ? total - 1 : undefined;
  }

  /** For requests that belong to no session; undefined where every slot is a session's. */
  readonly spare: number | undefined;

  of(session: string): number {
    const slot = this.#bySession.get(session) ?? this.#free();
    this.#bySession.delete(session);
    this.#bySession.set(session, slot);
    return slot;
  }

  release(session: string): void {
    this.#bySession.delete(session);
  }

  #free(): number {
    const taken = new Set(this.#bySession.values());
    for (let slot = 0; slot < this.#sessionSlots; slot += 1) if (!taken.has(slot)) return slot;
    const [oldest, slot] = this.#bySession.entries().next().value!;
    this.#bySession.delete(oldest);
    return slot;
  }
}

/** One work a key at a time: who asks while it runs shares one more run after it, with all who ask meanwhile. */

interface Runs<R> {
  readonly running: Promise<R>;
  next?: Promise<R>;
}

export class Coalesced<R> {
  readonly #runs = new Map<string, Runs<R>>();

  /** The work begins after this call, so it sees whatever was there before it. */
  run(key: string, work: () => Promise<R>): Promise<R> {
    const runs = this.#runs.get(key);
    if (runs === undefined) return this.#start(key, work);
    runs.next ??= runs.running.then(
      () => this.#start(key, work),
      () => this.#start(key, work),
    );
    return runs.next;
  }

  /** Keys with a work that runs or waits. */
  get size(): number {
    return this.#runs.size;
  }

  #start(key: string, work: () => Promise<R>): Promise<R> {
    const running = work();
    const runs: Runs<R> = { running };
    this.#runs.set(key, runs);
    void this.#clear(key, runs);
    return running;
  }

  /** Whoever waits replaces these runs by their own. */
  async #clear(key: string, runs: Runs<R>): Promise<void> {
    await runs.running.catch(() => undefined);
    if (this.#runs.get(key) === runs && runs.next === undefined) this.#runs.delete(key);
  }
}

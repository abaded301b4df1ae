/** Many may pass together, or one alone; one that waits to be alone goes before those who come after it. */

export class Gate {
  #inside = 0;
  #isTaken = false;
  readonly #alone: (() => void)[] = [];
  readonly #together: (() => void)[] = [];

  /** Somebody waits to be alone: what takes long should make way. */
  get isWanted(): boolean {
    return this.#alone.length > 0;
  }

  async together<R>(work: () => Promise<R>): Promise<R> {
    if (this.#isTaken || this.#alone.length > 0)
      await new Promise<void>((resolve) => this.#together.push(resolve));
    else this.#inside += 1;
    try {
      return await work();
    } finally {
      this.#inside -= 1;
      this.#admit();
    }
  }

  async alone<R>(work: () => Promise<R>): Promise<R> {
    if (this.#isTaken || this.#inside > 0) await new Promise<void>((resolve) => this.#alone.push(resolve));
    else this.#isTaken = true;
    try {
      return await work();
    } finally {
      this.#isTaken = false;
      this.#admit();
    }
  }

  #admit(): void {
    if (this.#inside > 0 || this.#isTaken) return;
    const alone = this.#alone.shift();
    if (alone !== undefined) {
      this.#isTaken = true;
      alone();
      return;
    }
    const together = this.#together.splice(0);
    this.#inside += together.length;
    for (const enter of together) enter();
  }
}

/** Keeps the best few of many scored turns. */

export interface Scored {
  readonly turn: number;
  readonly score: number;
}

/** A heap with the worst of the kept on top. */
export class Best {
  readonly #max: number;
  readonly #order: (one: Scored, other: Scored) => number;
  readonly #heap: Scored[] = [];

  /** @param order negative where `one` comes before `other` in the result. */
  constructor(max: number, order: (one: Scored, other: Scored) => number) {
    this.#max = max;
    this.#order = order;
  }

  /** A score below this cannot enter any more. */
  get scoreMin(): number {
    return this.#heap.length < this.#max ? -Infinity : this.#heap[0]!.score;
  }

  add(scored: Scored): void {
    const heap = this.#heap;
    if (heap.length < this.#max) {
      heap.push(scored);
      this.#up(heap.length - 1);
    } else if (this.#max > 0 && this.#order(scored, heap[0]!) < 0) {
      heap[0] = scored;
      this.#down();
    }
  }

  sorted(): Scored[] {
    return this.#heap.toSorted(this.#order);
  }

  #up(from: number): void {
    const heap = this.#heap;
    for (let at = from; at > 0;) {
      const parent = (at - 1) >> 1;
      if (this.#order(heap[at]!, heap[parent]!) <= 0) return;
      [heap[at], heap[parent]] = [heap[parent]!, heap[at]!];
      at = parent;
    }
  }

  #down(): void {
    const heap = this.#heap;
    for (let at = 0; ;) {
      let worst = at;
      for (const child of [at * 2 + 1, at * 2 + 2]) {
        if (child < heap.length && this.#order(heap[child]!, heap[worst]!) > 0) worst = child;
      }
      if (worst === at) return;
      [heap[at], heap[worst]] = [heap[worst]!, heap[at]!];
      at = worst;
    }
  }
}

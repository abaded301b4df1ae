/** Which turns are of one record: a long text is several turns in a row, of which all but the first go on from the one before. */
import { mark, type Columns } from './columns.ts';

export class RecordHeads {
  readonly #columns: Columns;
  /** The record looked at last, since turns of one are asked about together: its first turn and where it ends. */
  #head = 0;
  #end = 0;

  constructor(columns: Columns) {
    this.#columns = columns;
  }

  /** Whether the record of a turn is more than the turn. */
  isPart(turn: number): boolean {
    return this.isContinuation(turn) || this.isContinuation(turn + 1);
  }

  isContinuation(turn: number): boolean {
    return turn < this.#columns.count && (this.#columns.flags[turn]! & mark.continuation) !== 0;
  }

  of(turn: number): number {
    if (!this.isPart(turn)) return turn;
    if (turn < this.#head || turn >= this.#end) {
      this.#head = turn;
      while (this.#head > 0 && this.isContinuation(this.#head)) this.#head -= 1;
      this.#end = turn + 1;
      while (this.isContinuation(this.#end)) this.#end += 1;
    }
    return this.#head;
  }

  /** The first of each record, in the order given. */
  distinct<T extends { readonly turn: number }>(turns: readonly T[]): T[] {
    const seen = new Set<number>();
    return turns.filter(({ turn }) => {
      const head = this.of(turn);
      if (seen.has(head)) return false;
      seen.add(head);
      return true;
    });
  }
}

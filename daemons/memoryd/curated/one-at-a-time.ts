/** Work that must not overlap, in the order it came. */
import { AppError } from '../../../shared/errors.ts';

/** More than every connection may have in flight together. */
const waitingMax = 20_000;

export class OneAtATime {
  #last: Promise<unknown> = Promise.resolve();
  /** What runs is one of them. */
  #waiting = 0;

  /** Nothing waits behind what runs. */
  get isLast(): boolean {
    return this.#waiting <= 1;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#waiting >= waitingMax) {
      throw new AppError('memory-unwritable', 'too many changes wait for the file', {
        details: { reason: 'busy' },
      });
    }
    this.#waiting += 1;
    const done = this.#last.then(work).finally(() => {
      this.#waiting -= 1;
    });
    // What fails is told to the one who asked, and stops nobody behind it.
    this.#last = done.catch(() => {});
    return await done;
  }

  async settled(): Promise<void> {
    while (this.#waiting > 0) await this.#last;
  }
}

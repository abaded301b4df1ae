/**
 * Exchanges two files in one step, so that what an editor saved in the last moment is in our hands and not lost.
 *
 * Node has rename(2) alone, which drops whatever stands at the target; between a last look and the rename another
 * process has time to save. renameat2(2) gives back what it replaced.
 */

/** False where this file system cannot, or one of the two is not there: then nothing was done. */
export type Exchange = (left: string, right: string) => boolean;

const AT_FDCWD = -100;
const RENAME_EXCHANGE = 2;

/** koffi is an optional dependency: without it there is no exchange, and that moment stays open for microseconds. */
export async function loadExchange(load = loadRenameat2): Promise<Exchange | undefined> {
  try {
    const renameat2 = await load();
    return (left, right) => renameat2(AT_FDCWD, left, AT_FDCWD, right, RENAME_EXCHANGE) === 0;
  } catch {
    return undefined;
  }
}

type Renameat2 = (fromFolder: number, from: string, toFolder: number, to: string, flags: number) => number;

async function loadRenameat2(): Promise<Renameat2> {
  const { default: koffi } = await import('koffi');
  const libc = koffi.load(null);
  return libc.func(
    'int renameat2(int fromFolder, const char *from, int toFolder, const char *to, unsigned int flags)',
  ) as Renameat2;
}

/** So long after an edit by hand the next one is expected. */
const editingMs = 60_000;

/** Whether a person is editing, and then the means to do them no harm. */
export class Editing {
  #untilMs = Number.NEGATIVE_INFINITY;
  #loading: Promise<Exchange | undefined> | undefined;

  /** There was an edit by hand just now. */
  notice(): void {
    this.#untilMs = performance.now() + editingMs;
  }

  async exchange(): Promise<Exchange | undefined> {
    if (performance.now() > this.#untilMs) return undefined;
    this.#loading ??= loadExchange();
    return await this.#loading;
  }
}

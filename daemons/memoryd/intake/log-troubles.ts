/** What is wrong with session logs, for the status: lines that could not be read, logs that could not be opened. */
import type { LineCounts } from './session-progress.ts';

/** Sessions that are named; of the others only the figures are kept. */
const sessionsNamedMax = 100;

type Lines = Pick<LineCounts, 'unreadable' | 'oversized' | 'salvaged' | 'repeated'>;

export class LogTroubles {
  readonly #lines = new Map<string, Lines>();
  readonly #failed = new Map<string, string>();

  noteLines(session: string, { unreadable, oversized, salvaged, repeated }: LineCounts): void {
    if (unreadable + oversized + salvaged + repeated === 0) this.#lines.delete(session);
    else this.#lines.set(session, { unreadable, oversized, salvaged, repeated });
  }

  /** @returns whether that is news. */
  failed(session: string, error: unknown): boolean {
    const reason = (error as NodeJS.ErrnoException).code ?? String(error);
    const isNews = this.#failed.get(session) !== reason;
    this.#failed.set(session, reason);
    return isNews;
  }

  readable(session: string): void {
    this.#failed.delete(session);
  }

  status(): Record<string, unknown> {
    const lines = { unreadable: 0, oversized: 0, salvaged: 0, repeated: 0 };
    for (const counts of this.#lines.values())
      for (const name of Object.keys(lines) as (keyof Lines)[]) lines[name] += counts[name];
    return {
      lines,
      damaged: [...this.#lines.keys()].slice(0, sessionsNamedMax),
      unreadable: Object.fromEntries([...this.#failed].slice(0, sessionsNamedMax)),
    };
  }
}

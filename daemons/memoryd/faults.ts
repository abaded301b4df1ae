/** How often each error code was answered or met, and when each job last went well: what `status` tells. */
import type { ErrorCode } from '../../shared/errors.ts';

/** An error is not a fault when it is the caller's: it says how to ask better and needs no operator. */
const callersOwn: ReadonlySet<ErrorCode> = new Set([
  'memory-full',
  'memory-changed',
  'memory-ambiguous',
  'memory-no-match',
  'memory-refused',
  'session-unknown',
  'request-reused',
  'rejected',
  'not-permitted',
  'stopping',
]);

interface Job {
  last_success?: string;
  last_failure?: string;
}

export class Faults {
  readonly #counts = new Map<ErrorCode, number>();
  readonly #jobs = new Map<string, Job>();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** @returns whether an operator should hear of it. */
  count(code: ErrorCode): boolean {
    this.#counts.set(code, (this.#counts.get(code) ?? 0) + 1);
    return !callersOwn.has(code);
  }

  get byCode(): Record<string, number> {
    return Object.fromEntries(this.#counts);
  }

  succeeded(job: string): void {
    this.#jobOf(job).last_success = this.#now();
  }

  failed(job: string): void {
    this.#jobOf(job).last_failure = this.#now();
  }

  get jobs(): Record<string, Job> {
    return Object.fromEntries(this.#jobs);
  }

  #jobOf(name: string): Job {
    const known = this.#jobs.get(name) ?? {};
    this.#jobs.set(name, known);
    return known;
  }

  #now(): string {
    return new Date(this.#nowMs()).toISOString();
  }
}

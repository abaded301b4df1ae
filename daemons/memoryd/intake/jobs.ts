/** When each job last succeeded and last failed, for the status. */
import { AppError } from '../../../shared/errors.ts';

export interface JobStatus {
  last_success?: string;
  last_failure?: string;
}

export class Jobs {
  readonly #nowMs: () => number;
  readonly #jobs = new Map<string, JobStatus>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** A job that ends because memoryd stops has neither succeeded nor failed. */
  async run<R>(name: string, work: () => Promise<R>): Promise<R> {
    try {
      const result = await work();
      this.#note(name, 'last_success');
      return result;
    } catch (error) {
      if (!(error instanceof AppError && error.code === 'stopping')) this.#note(name, 'last_failure');
      throw error;
    }
  }

  status(): Record<string, JobStatus> {
    return Object.fromEntries([...this.#jobs].map(([name, job]) => [name, { ...job }]));
  }

  #note(name: string, outcome: keyof JobStatus): void {
    const job = this.#jobs.get(name) ?? {};
    job[outcome] = new Date(this.#nowMs()).toISOString();
    this.#jobs.set(name, job);
  }
}

/** Waiting with an end. */
import { setTimeout as sleep } from 'node:timers/promises';

/** @returns undefined where the promise was not settled in time; it goes on by itself, and its failure is its own. */
export async function within<R>(promise: Promise<R>, waitMs: number): Promise<R | undefined> {
  const ended = new AbortController();
  // Who stopped waiting does not hear of a failure, which is reported where the work is done.
  promise.catch(() => undefined);
  try {
    return await Promise.race([
      promise,
      sleep(waitMs, undefined, { signal: ended.signal }).catch(() => undefined),
    ]);
  } finally {
    ended.abort();
  }
}

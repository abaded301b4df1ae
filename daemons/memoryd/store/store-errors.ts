/** What an error of LevelDB or of the file system means for the store, and what a client is told of it. */
import { AppError } from '../../../shared/errors.ts';

/** Of a write that failed: `unknown` may be in the store all the same. */
export type Outcome = 'not-stored' | 'unknown';

/** Level says that it could not open; why is in the cause. */
export function reasonOf(error: unknown): string {
  const { cause, message } = error as Error;
  return cause instanceof Error ? cause.message : message;
}

export function isCorruption(error: unknown): boolean {
  const { code, cause } = error as { code?: unknown; cause?: { code?: unknown } };
  return code === 'LEVEL_CORRUPTION' || cause?.code === 'LEVEL_CORRUPTION';
}

/** LevelDB reports a full disk in words alone. */
export function isDiskFull(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return code === 'ENOSPC' || code === 'EDQUOT' || /No space left|quota exceeded/i.test(reasonOf(error));
}

export function writeError(error: unknown, outcome: Outcome): AppError {
  if (error instanceof AppError) {
    return new AppError(error.code, error.message, {
      // What was refused before it was tried says so itself.
      details: { outcome, ...error.details },
      cause: error.cause,
    });
  }
  const what = outcome === 'unknown' ? 'it may be stored all the same' : 'nothing was stored';
  return new AppError(
    isDiskFull(error) ? 'store-full' : 'store-write-failed',
    `write to the record store: ${reasonOf(error)}; ${what}`,
    { details: { outcome }, cause: error },
  );
}

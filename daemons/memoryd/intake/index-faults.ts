/** What an error of the recall index means: damage to be rebuilt, a disk that failed, or a bug. */
import { IndexDamage } from '../recall/index/damage.ts';
import { isCorruption } from '../store/store-errors.ts';

export function isDamage(error: unknown): boolean {
  return error instanceof IndexDamage || isCorruption(error);
}

/** LevelDB, or the file system under it, could not do what it was asked. */
export function isEngineError(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && code.startsWith('LEVEL_');
}

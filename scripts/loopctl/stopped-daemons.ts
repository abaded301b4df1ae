/** Whether the daemons of a home run, told by their locks: asking a socket that systemd holds would start them. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../../shared/errors.ts';
import type { Home } from '../../shared/home.ts';
import { acquireLock, type Lock } from '../../shared/lock.ts';

export const lockFiles = (home: Pick<Home, 'store' | 'sessions'>) => ({
  memoryd: join(home.store, 'memoryd.lock'),
  loopd: join(home.sessions, '.loopd.lock'),
});

/** The pid of whoever holds the lock, 0 where it cannot be named; undefined where nobody does. Makes no file. */
export async function holderOfLock(path: string): Promise<number | undefined> {
  if (!existsSync(path)) return undefined;
  try {
    await (await acquireLock(path, { waitMs: 0 })).release();
    return undefined;
  } catch (thrown) {
    if (!(thrown instanceof AppError) || thrown.code !== 'store-locked') throw thrown;
    return Number(thrown.details['pid'] ?? 0);
  }
}

/** @throws AppError store-locked, naming which runs */
export async function mustBeStopped(home: Pick<Home, 'store' | 'sessions'>): Promise<void> {
  const running: string[] = [];
  for (const [name, path] of Object.entries(lockFiles(home))) {
    const pid = await holderOfLock(path);
    if (pid !== undefined) running.push(pid === 0 ? name : `${name} (process ${pid})`);
  }
  if (running.length === 0) return;
  throw new AppError(
    'store-locked',
    `${running.join(' and ')} ${running.length === 1 ? 'runs' : 'run'}: stop both daemons first (with systemd: systemctl stop 'loopkeep-*.socket' loopd memoryd)`,
    { details: { running } },
  );
}

/** loopd does not start while this is held. */
export function holdLoopd(home: Pick<Home, 'store' | 'sessions'>): Promise<Lock> {
  return acquireLock(lockFiles(home).loopd, { waitMs: 0 });
}

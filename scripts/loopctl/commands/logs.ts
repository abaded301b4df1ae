/** loopctl logs: what both daemons wrote to the journal. */
import { spawn } from 'node:child_process';
import { AppError } from '../../../shared/errors.ts';
import type { Run } from '../command.ts';

export const logs: Run = async (_context, _args, options) => {
  const args = ['-u', 'memoryd', '-u', 'loopd', '-o', 'cat', '--no-pager'];
  if (typeof options['since'] === 'string') args.push('--since', options['since']);
  if (options['follow'] === true) args.push('-f');
  const child = spawn('journalctl', args, { stdio: 'inherit' });
  const status = await new Promise<number | NodeJS.ErrnoException>((resolve) => {
    child.once('error', resolve);
    child.once('close', (code) => resolve(code ?? 1));
  });
  if (status === 0) return;
  throw new AppError(
    'loop-unavailable',
    'journalctl cannot show the logs; without systemd they are on the standard output of each daemon',
    {
      cause: typeof status === 'number' ? undefined : status,
    },
  );
};

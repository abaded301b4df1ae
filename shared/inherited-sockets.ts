/** The listening sockets that systemd holds and hands to a daemon at its start, by name. */
import { AppError } from './errors.ts';

/** SD_LISTEN_FDS_START. */
const firstFd = 3;
const socketsMax = 16;

/**
 * Name → file descriptor. The name is the unit's FileDescriptorName: what a socket is for never depends on
 * the order in which units list it. Empty where no socket was handed to this very process.
 *
 * @throws AppError config-invalid when the variables contradict each other or two sockets share a name.
 */
export function inheritedSockets(env: NodeJS.ProcessEnv): Map<string, number> {
  const sockets = new Map<string, number>();
  // A child of a daemon inherits the variables, not the sockets.
  if (!env['LISTEN_FDS'] || env['LISTEN_PID'] !== String(process.pid)) return sockets;
  const count = Number(env['LISTEN_FDS']);
  const names = (env['LISTEN_FDNAMES'] ?? '').split(':');
  if (
    !Number.isSafeInteger(count) ||
    count < 0 ||
    count > socketsMax ||
    (count > 0 && names.length !== count)
  ) {
    throw invalid(
      `LISTEN_FDS=${env['LISTEN_FDS']} and LISTEN_FDNAMES=${env['LISTEN_FDNAMES'] ?? ''} disagree`,
    );
  }
  for (const [index, name] of names.slice(0, count).entries()) {
    if (sockets.has(name)) throw invalid(`two inherited sockets are both named ${name}`);
    sockets.set(name, firstFd + index);
  }
  return sockets;
}

function invalid(why: string): AppError {
  return new AppError('config-invalid', `cannot take over the sockets from systemd: ${why}`);
}

/** A Unix socket's path: how long it may be, and how it is made ready for listening. */
import { chmodSync, lstatSync, mkdirSync, statSync, unlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname } from 'node:path';
import { AppError } from './errors.ts';

/** sockaddr_un holds 108 bytes, one of them the closing zero; Node would shorten a longer path silently. */
export const socketPathBytesMax = 107;

/** @throws AppError socket-path-too-long */
export function checkSocketPath(path: string): void {
  const bytes = Buffer.byteLength(path);
  if (bytes <= socketPathBytesMax) return;
  throw new AppError(
    'socket-path-too-long',
    `the socket path ${path} has ${bytes} bytes, ${socketPathBytesMax} are possible`,
    { details: { path, bytes, limit: socketPathBytesMax } },
  );
}

/**
 * Makes the folder (0700 whatever the umask) and removes a socket file that nobody listens on. Only a refused
 * connection proves that; what is not a socket is never removed.
 * @throws AppError socket-path-too-long, socket-in-use
 */
export async function prepareSocketPath(path: string): Promise<void> {
  checkSocketPath(path);
  const folder = dirname(path);
  if (mkdirSync(folder, { recursive: true, mode: 0o700 }) !== undefined) chmodSync(folder, 0o700);
  else closeToOthers(folder);
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isSocket()) {
    throw new AppError('socket-in-use', `${path} is not a socket and is left alone`, { details: { path } });
  }
  const answer = await probe(path);
  if (answer !== 'ECONNREFUSED' && answer !== 'ENOENT') {
    throw new AppError('socket-in-use', `another process answers on ${path}`, { details: { path, answer } });
  }
  unlinkSync(path);
}

/** Takes away what others may do in a folder of ours; a group's rights are the operator's choice. */
function closeToOthers(folder: string): void {
  const { mode, uid } = statSync(folder);
  if ((mode & 0o007) !== 0 && uid === process.getuid?.()) chmodSync(folder, mode & 0o7770);
}

const probeTimeoutMs = 2000;

/** `connected`, or the error code of the attempt; a busy owner counts as connected. */
function probe(path: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const settle = (answer: string) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(probeTimeoutMs, () => settle('timeout'));
    socket.once('connect', () => settle('connected'));
    socket.once('error', (error: NodeJS.ErrnoException) => settle(error.code ?? 'error'));
  });
}

/** A Unix socket's path: how long it may be, and how it is made ready for listening. */
import { chmodSync, lstatSync, mkdirSync, statSync, unlinkSync } from 'node:fs';
import { connect, type Server } from 'node:net';
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

export interface SocketPlace {
  readonly path: string;
  /** A socket that is open already (systemd). */
  readonly fd?: number;
  /** Mode of the socket file; ignored where the socket is open already. */
  readonly mode?: number;
}

const backlog = 511;

/** @throws AppError socket-path-too-long, socket-in-use, config-invalid */
export async function listenUnix(server: Server, { path, fd, mode = 0o600 }: SocketPlace): Promise<void> {
  if (fd === undefined) await prepareSocketPath(path);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const details = { path, errno: cause.code };
      // Whatever else is in the way is the path's own fault: nobody has to end first.
      const code = cause.code === 'EADDRINUSE' ? 'socket-in-use' : 'config-invalid';
      reject(new AppError(code, `listen on ${path}: ${cause.code}`, { details, cause }));
    });
    // The file is made inside listen(), with the umask of that moment: no window in which others may connect.
    const before = process.umask(0o177);
    try {
      server.listen(fd === undefined ? { path, backlog } : { fd }, resolve);
    } finally {
      process.umask(before);
    }
  });
  if (fd === undefined) chmodSync(path, mode);
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

/** loopctl acp: standard input and output of an editor, carried to loopd's channel and back, byte for byte. */
import { connect, type Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { AppError } from '../../shared/errors.ts';
import { checkSocketPath } from '../../shared/socket-path.ts';

interface Bridge {
  readonly socketPath: string;
  readonly input: Readable;
  readonly output: Writable;
}

/**
 * Resolves when the editor has ended its side and has read what was still answered.
 * @throws AppError loop-unavailable: loopd does not answer, or went away first; socket-path-too-long
 */
export async function bridgeAcp({ socketPath, input, output }: Bridge): Promise<void> {
  checkSocketPath(socketPath);
  const socket = await opened(socketPath);
  let hasEnded = false;
  input.once('end', () => {
    hasEnded = true;
  });
  await new Promise<void>((resolve, reject) => {
    socket.once('close', () => {
      input.unpipe(socket);
      if (hasEnded) resolve();
      else reject(new AppError('loop-unavailable', 'loopd closed the channel'));
    });
    // The close that follows says what it means; so it does when the editor is gone.
    socket.on('error', () => socket.destroy());
    output.once('error', () => {
      hasEnded = true;
      socket.destroy();
    });
    input.pipe(socket);
    socket.pipe(output, { end: false });
  });
}

function opened(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    const fail = (cause: NodeJS.ErrnoException) => {
      const details = { errno: cause.code };
      reject(new AppError('loop-unavailable', `connect to ${path}: ${cause.code}`, { details, cause }));
    };
    socket.once('error', fail);
    socket.once('connect', () => {
      socket.removeListener('error', fail);
      resolve(socket);
    });
  });
}

/** Listens on the channel's socket and hands each client to the channel; as many at once as the limits allow. */
import { chmodSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { AppError } from '../../../shared/errors.ts';
import { prepareSocketPath } from '../../../shared/socket-path.ts';
import type { Channel } from './channel.ts';
import { appRequestError } from './error-reply.ts';

interface ChannelListener {
  readonly path: string;
  /** A socket that is open already (systemd). */
  readonly fd?: number;
  /** Mode of the socket file; ignored where the socket is open already. */
  readonly mode?: number;
  readonly connectionsMax: number;
}

const backlog = 511;
const stopGraceMs = 3_000;
const defaultMode = 0o600;

export class ChannelServer {
  readonly #channel: Channel;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(channel: Channel, connectionsMax: number) {
    this.#channel = channel;
    this.#server = createServer({ allowHalfOpen: true }, (socket) => this.#accept(socket, connectionsMax));
  }

  /** @throws AppError socket-path-too-long, socket-in-use */
  static async listen(
    channel: Channel,
    { path, fd, mode = defaultMode, connectionsMax }: ChannelListener,
  ): Promise<ChannelServer> {
    if (fd === undefined) await prepareSocketPath(path);
    const listening = new ChannelServer(channel, connectionsMax);
    const server = listening.#server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', (cause: NodeJS.ErrnoException) => {
        const details = { path, errno: cause.code };
        reject(new AppError('socket-in-use', `listen on ${path}: ${cause.code}`, { details, cause }));
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
    return listening;
  }

  #accept(socket: Socket, connectionsMax: number): void {
    if (this.#sockets.size >= connectionsMax) {
      const error = appRequestError(
        new AppError('too-many-connections', `all ${connectionsMax} connections are in use`),
      );
      socket.on('error', () => socket.destroy());
      socket.resume();
      socket.end(`${JSON.stringify({ jsonrpc: '2.0', id: null, error: error.toErrorResponse() })}\n`);
      return;
    }
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    this.#channel.serve(socket);
  }

  /** Stops listening, then the channel; whoever is still connected is cut off. */
  async stop(graceMs = stopGraceMs): Promise<void> {
    this.#server.close();
    await this.#channel.stop(graceMs);
    await Promise.all([...this.#sockets].map(closed));
  }
}

const flushMs = 500;

/** What was answered last has a moment to leave. */
function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.destroyed) return resolve();
    const cut = setTimeout(() => socket.destroy(), flushMs);
    socket.once('close', () => {
      clearTimeout(cut);
      resolve();
    });
  });
}

/** Listens on Unix sockets and carries lines to a handler and its replies back, within limits. It knows no method. */
import { createServer, type Server, type Socket } from 'node:net';
import { connectionErrorLine } from './dispatch.ts';
import { listenUnix, type SocketPlace } from './socket-path.ts';
import { LineSplitter, type Line } from './wire.ts';

export interface SocketLimits {
  readonly lineBytesMax: number;
  /** Requests of one connection under way; then it is not read further. */
  readonly inFlightMax: number;
  readonly connectionsMax: number;
  /** Replies that a client has not read; then it is dropped. */
  readonly unreadBytesMax: number;
}

/** Answers one line of one connection; the reply ends with a line feed, undefined is none. */
export type LineHandler = (line: Line) => string | undefined | Promise<string | undefined>;

export interface Listener extends SocketPlace {
  /** Called once for each connection. */
  readonly connect: () => LineHandler;
}

/** All listeners of a daemon; connections are counted over all of them. */
export class SocketServer {
  readonly #limits: SocketLimits;
  readonly #servers: Server[] = [];
  readonly #connections = new Set<LineConnection>();

  constructor(limits: SocketLimits) {
    this.#limits = limits;
  }

  get connections(): number {
    return this.#connections.size;
  }

  /** @throws AppError socket-path-too-long, socket-in-use */
  async listen({ connect, ...place }: Listener): Promise<void> {
    const server = createServer({ allowHalfOpen: true }, (socket) => this.#accept(socket, connect));
    await listenUnix(server, place);
    this.#servers.push(server);
  }

  #accept(socket: Socket, connect: () => LineHandler): void {
    if (this.#connections.size >= this.#limits.connectionsMax) {
      socket.on('error', () => socket.destroy());
      socket.end(
        connectionErrorLine(
          'too-many-connections',
          `all ${this.#limits.connectionsMax} connections are in use`,
        ),
      );
      socket.resume();
      return;
    }
    const connection = new LineConnection(socket, connect(), this.#limits);
    this.#connections.add(connection);
    socket.once('close', () => this.#connections.delete(connection));
  }

  /** Stops listening, lets what was accepted finish, then closes; whoever takes longer than `graceMs` is cut off. */
  async stop(graceMs: number): Promise<void> {
    for (const server of this.#servers) server.close();
    const cut = setTimeout(() => {
      for (const connection of this.#connections) connection.drop();
    }, graceMs);
    await Promise.all([...this.#connections].map((connection) => connection.finish()));
    clearTimeout(cut);
  }
}

/** One client: bytes in, replies out. */
class LineConnection {
  readonly #socket: Socket;
  readonly #handle: LineHandler;
  readonly #limits: SocketLimits;
  readonly #splitter: LineSplitter;
  #waiting: Line[] = [];
  #inFlight = 0;
  #out: string[] = [];
  #isFlushing = false;
  #hasEnded = false;
  /** Said last, when everything before it is answered. */
  #farewell: string | undefined;
  #onIdle: (() => void) | undefined;

  constructor(socket: Socket, handle: LineHandler, limits: SocketLimits) {
    this.#socket = socket;
    this.#handle = handle;
    this.#limits = limits;
    this.#splitter = new LineSplitter(limits.lineBytesMax);
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('end', () => this.#end());
    // A client that vanishes is no fault of ours; without a listener it would end the process.
    socket.on('error', () => socket.destroy());
    socket.once('close', () => this.#settle());
  }

  #take(chunk: Buffer): void {
    const lines = this.#splitter.push(chunk);
    if (this.#waiting.length === 0) this.#waiting = lines;
    else this.#waiting.push(...lines);
    this.#work();
    if (this.#splitter.isOver) this.#refuse();
  }

  #refuse(): void {
    this.#socket.removeAllListeners('data');
    this.#socket.resume();
    this.#hasEnded = true;
    this.#farewell = connectionErrorLine(
      'message-too-large',
      `a line is over ${this.#limits.lineBytesMax} bytes`,
    );
    this.#closeWhenDone();
  }

  #end(): void {
    this.#hasEnded = true;
    this.#waiting.push(...this.#splitter.end());
    this.#work();
    this.#closeWhenDone();
  }

  #work(): void {
    let at = 0;
    while (at < this.#waiting.length && this.#inFlight < this.#limits.inFlightMax) {
      const line = this.#waiting[at];
      at += 1;
      const reply = this.#handle(line);
      if (reply instanceof Promise) this.#follow(reply);
      else if (reply !== undefined) this.#send(reply);
    }
    this.#waiting = at === this.#waiting.length ? [] : this.#waiting.slice(at);
    if (this.#waiting.length > 0) this.#socket.pause();
    else if (this.#socket.isPaused() && !this.#hasEnded) this.#socket.resume();
  }

  #follow(reply: Promise<string | undefined>): void {
    this.#inFlight += 1;
    void reply.then((text) => {
      this.#inFlight -= 1;
      if (text !== undefined) this.#send(text);
      if (this.#waiting.length > 0) this.#work();
      if (this.#inFlight === 0) this.#settle();
    });
  }

  /** Replies of one tick leave in one write: nextTick comes after every reply that settles in the same round. */
  #send(reply: string): void {
    this.#out.push(reply);
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    process.nextTick(() => this.#flush());
  }

  #flush(): void {
    this.#isFlushing = false;
    if (this.#socket.destroyed || this.#out.length === 0) return;
    this.#socket.write(this.#out.length === 1 ? (this.#out[0] ?? '') : this.#out.join(''));
    this.#out = [];
    if (this.#socket.writableLength > this.#limits.unreadBytesMax) this.drop();
  }

  #settle(): void {
    if (this.#hasEnded) this.#closeWhenDone();
    if (this.#inFlight === 0 && this.#waiting.length === 0) this.#onIdle?.();
  }

  #closeWhenDone(): void {
    if (this.#inFlight > 0 || this.#waiting.length > 0 || this.#socket.destroyed) return;
    if (this.#farewell !== undefined) this.#out.push(this.#farewell);
    this.#farewell = undefined;
    this.#flush();
    this.#socket.end();
  }

  drop(): void {
    this.#socket.destroy();
  }

  /** Resolves when what was accepted is answered and the connection is closed. */
  async finish(): Promise<void> {
    if (this.#socket.destroyed) return;
    if (this.#inFlight > 0 || this.#waiting.length > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
    }
    this.#flush();
    if (this.#socket.destroyed) return;
    await new Promise<void>((resolve) => {
      this.#socket.once('close', () => resolve());
      this.#socket.end(() => this.#socket.destroy());
    });
  }
}

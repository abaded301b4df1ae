/** Typed calls over one Unix socket; reconnects by itself and repeats once what was cut off. */
import { randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError, errorKinds, type ErrorCode } from './errors.ts';
import { ParamsError } from './params-error.ts';
import type { MethodName, Params, Protocol, Result } from './protocol/method.ts';
import { checkSocketPath } from './socket-path.ts';
import { LineSplitter } from './wire.ts';

interface ClientOptions {
  /** The code of a daemon that does not answer. */
  readonly unavailable: ErrorCode;
  /** How long a connection is tried again while the daemon is starting; 0 tries once. */
  readonly connectMs?: number;
  readonly lineBytesMax?: number;
}

interface CallOptions {
  readonly timeoutMs?: number;
}

interface Pending {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

const defaultLineBytesMax = 64 * 1024 * 1024;
const defaultTimeoutMs = 60_000;
const connectPauseMs = 50;

/** The connection went away before the reply: the request may or may not have been done. */
class CutOff extends Error {}

export class Client<P extends Protocol> {
  readonly #path: string;
  readonly #protocol: P;
  readonly #unavailable: ErrorCode;
  readonly #connectMs: number;
  readonly #lineBytesMax: number;
  readonly #pending = new Map<number, Pending>();
  #socket: Promise<Socket> | undefined;
  #lastId = 0;
  #isClosed = false;

  constructor(path: string, protocol: P, options: ClientOptions) {
    checkSocketPath(path);
    this.#path = path;
    this.#protocol = protocol;
    this.#unavailable = options.unavailable;
    this.#connectMs = options.connectMs ?? 0;
    this.#lineBytesMax = options.lineBytesMax ?? defaultLineBytesMax;
  }

  /**
   * A write carries a request_id (its own or a fresh one), so that repeating it is the same write.
   * @throws AppError with the daemon's code, or the code for a daemon that does not answer
   */
  async call<M extends MethodName<P>>(
    method: M,
    params: Params<P, M>,
    options: CallOptions = {},
  ): Promise<Result<P, M>> {
    const sent = this.#withRequestId(method, params as Record<string, unknown>);
    const timeoutMs = options.timeoutMs ?? defaultTimeoutMs;
    try {
      return (await this.#once(method, sent, timeoutMs)) as Result<P, M>;
    } catch (thrown) {
      if (!(thrown instanceof CutOff)) throw thrown;
    }
    try {
      return (await this.#once(method, sent, timeoutMs)) as Result<P, M>;
    } catch (thrown) {
      if (thrown instanceof CutOff)
        throw this.#away(`${this.#path} closed the connection twice`, thrown, { cause: 'closed' });
      throw thrown;
    }
  }

  #withRequestId(method: string, params: Record<string, unknown>): Record<string, unknown> {
    const schema = this.#protocol[method]?.params as { properties?: Record<string, unknown> } | undefined;
    if (schema?.properties?.['request_id'] === undefined || params['request_id'] !== undefined) return params;
    return { ...params, request_id: randomUUID() };
  }

  async #once(method: string, params: unknown, timeoutMs: number): Promise<unknown> {
    const until = Date.now() + timeoutMs;
    const timer = new AbortController();
    const late = sleep(timeoutMs, undefined, { signal: timer.signal }).then(() => {
      throw this.#away(`no answer on ${this.#path} in ${timeoutMs} ms`, undefined, { cause: 'timeout' });
    });
    late.catch(() => undefined);
    const id = (this.#lastId += 1);
    try {
      const socket = await Promise.race([this.#connected(until), late]);
      const reply = new Promise((resolve, reject) => this.#pending.set(id, { resolve, reject }));
      reply.catch(() => undefined);
      socket.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
      return await Promise.race([reply, late]);
    } finally {
      this.#pending.delete(id);
      timer.abort();
    }
  }

  #connected(until: number): Promise<Socket> {
    if (this.#isClosed) throw this.#away('the client is closed');
    if (this.#socket !== undefined) return this.#socket;
    const socket = this.#connect(Math.min(until, Date.now() + this.#connectMs));
    this.#socket = socket;
    socket.catch(() => {
      if (this.#socket === socket) this.#socket = undefined;
    });
    return socket;
  }

  async #connect(until: number): Promise<Socket> {
    for (;;) {
      const opened = await open(this.#path);
      if (typeof opened !== 'string') return this.#wire(opened);
      // EAGAIN: the daemon is there, its backlog is full for the moment.
      const mayWait = opened === 'EAGAIN' || opened === 'ENOENT' || opened === 'ECONNREFUSED';
      if (!mayWait || Date.now() + connectPauseMs > until) {
        throw this.#away(`connect to ${this.#path}: ${opened}`, undefined, { errno: opened });
      }
      await sleep(connectPauseMs);
    }
  }

  #wire(socket: Socket): Socket {
    const splitter = new LineSplitter(this.#lineBytesMax);
    socket.on('data', (chunk: Buffer) => {
      try {
        for (const line of splitter.push(chunk)) this.#receive(line ?? '');
        if (splitter.isOver) socket.destroy();
      } catch {
        // Whatever answers here is no daemon of ours: as good as not there.
        socket.destroy();
      }
    });
    socket.on('error', () => socket.destroy());
    socket.on('end', () => socket.destroy());
    socket.once('close', () => {
      this.#socket = undefined;
      for (const { reject } of this.#pending.values()) reject(new CutOff('cut off'));
      this.#pending.clear();
    });
    return socket;
  }

  /** @throws SyntaxError where the other end speaks another language */
  #receive(line: string): void {
    const { id, result, error } = JSON.parse(line) as Reply;
    if (error !== undefined && id === null) {
      // A fault of the connection itself concerns every request on it.
      for (const { reject } of this.#pending.values()) reject(errorOf(error));
      return;
    }
    const pending = this.#pending.get(id as number);
    if (pending === undefined) return;
    if (error === undefined) pending.resolve(result);
    else pending.reject(errorOf(error));
  }

  #away(message: string, cause?: unknown, details: Record<string, unknown> = {}): AppError {
    return new AppError(this.#unavailable, message, { details, cause });
  }

  close(): void {
    this.#isClosed = true;
    void this.#socket?.then(
      (socket) => socket.destroy(),
      () => undefined,
    );
  }
}

interface WireError {
  code: number;
  message: string;
  data?: Record<string, unknown>;
}

interface Reply {
  id: number | null;
  result?: unknown;
  error?: WireError;
}

/** The error as the daemon threw it. */
function errorOf({ code, message, data }: WireError): Error {
  const name = data?.['code'];
  if (typeof name === 'string' && Object.hasOwn(errorKinds, name)) {
    const { code: _code, runbook: _runbook, retryable: _retryable, ...details } = data ?? {};
    return new AppError(name as ErrorCode, message, { details });
  }
  const field = typeof data?.['field'] === 'string' ? data['field'] : '';
  return code === -32602
    ? new ParamsError(field, message, data?.['value'])
    : new AppError('internal', message);
}

/** An open socket, or the error code of the attempt. */
function open(path: string): Promise<Socket | string> {
  return new Promise((resolve) => {
    const socket = connect({ path, allowHalfOpen: false });
    const fail = (error: NodeJS.ErrnoException) => {
      socket.destroy();
      resolve(error.code ?? error.message);
    };
    socket.once('error', fail);
    socket.once('connect', () => {
      socket.removeListener('error', fail);
      resolve(socket);
    });
  });
}

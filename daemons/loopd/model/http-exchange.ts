/** One request to a model server over TCP, TLS or a Unix socket, with our own limits for each phase of it. */
import {
  Agent as PlainAgent,
  request as plainRequest,
  type ClientRequest,
  type IncomingMessage,
} from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import { AppError } from '../../../shared/errors.ts';
import { checkSocketPath } from '../../../shared/socket-path.ts';
import { modelFault } from '../turn/retry.ts';
import { faultOfConnection } from './model-fault.ts';

export interface ExchangeLimits {
  readonly connectMs: number;
  /** From the connection to the headers: a server whose slots are busy sends none. */
  readonly queuedMs: number;
  /** Between two reads; servers send a comment now and then while they read a prompt. */
  readonly idleMs: number;
  readonly totalMs: number;
}

export interface Exchange {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: string;
  readonly signal: AbortSignal;
  readonly limits: ExchangeLimits;
  onHeaders(status: number, contentType: string): void;
  /** False: what follows is of no use, the connection can go. */
  onBytes(bytes: Buffer): boolean;
}

const idleConnectionsMax = 8;

/** Where a model server listens, and the connections that are kept open to it. */
export class ModelEndpoint {
  readonly #where: { socketPath: string } | { protocol: string; hostname: string; port: string };
  readonly #basePath: string;
  readonly #headers: Record<string, string>;
  readonly #agent: PlainAgent;
  readonly #isTls: boolean;
  readonly url: string;

  /** @throws AppError config-invalid, socket-path-too-long */
  constructor(url: string, apiKey?: string) {
    this.url = url;
    const socketPath = url.startsWith('unix:') ? url.slice('unix:'.length) : undefined;
    if (socketPath === undefined) {
      const { protocol, hostname, port, pathname } = parseUrl(url);
      this.#where = { protocol, hostname: hostname.replaceAll(/^\[|\]$/g, ''), port };
      this.#basePath = pathname.replace(/\/+$/, '').replace(/\/v1$/, '');
      this.#isTls = protocol === 'https:';
    } else {
      if (!socketPath.startsWith('/')) throw invalid(url, 'the path of a socket starts with /');
      checkSocketPath(socketPath);
      this.#where = { socketPath };
      this.#basePath = '';
      this.#isTls = false;
    }
    this.#headers = apiKey ? { Authorization: `Bearer ${apiKey}` } : {};
    const options = { keepAlive: true, maxFreeSockets: idleConnectionsMax };
    this.#agent = this.#isTls ? new TlsAgent(options) : new PlainAgent(options);
  }

  close(): void {
    this.#agent.destroy();
  }

  /**
   * Resolves when the answer ended, whether or not it was complete: only its content tells.
   * @throws AppError model-unavailable
   */
  async exchange(exchange: Exchange): Promise<void> {
    const sent = await this.#attempt(exchange);
    // A kept connection may be closed by the server in the moment in which it is used again.
    if (sent === 'stale') await this.#attempt(exchange, false);
  }

  #attempt(exchange: Exchange, mayBeStale = true): Promise<'done' | 'stale'> {
    return new Promise((resolve, reject) => {
      const { body, method, path, signal } = exchange;
      const request = (this.#isTls ? tlsRequest : plainRequest)({
        ...this.#where,
        method,
        path: this.#basePath + path,
        agent: this.#agent,
        headers: {
          ...this.#headers,
          ...(body === undefined
            ? {}
            : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }),
        },
      });
      const timers = new PhaseTimers(exchange.limits, request);
      const cancel = () => request.destroy(cancelled());
      const settle = (settled: () => void) => {
        timers.stop();
        signal.removeEventListener('abort', cancel);
        settled();
      };
      let hasBegun = false;
      request.once('response', (response) => {
        hasBegun = true;
        timers.phase('idle');
        receive(response, { exchange, request, timers }, () => settle(() => resolve('done')));
      });
      request.once('error', (error) => {
        const isStale = mayBeStale && !hasBegun && request.reusedSocket && isReset(error);
        settle(() => {
          if (isStale) resolve('stale');
          else reject(error instanceof AppError ? error : faultOfConnection(error, this.url, hasBegun));
        });
      });
      if (signal.aborted) {
        cancel();
        return;
      }
      signal.addEventListener('abort', cancel, { once: true });
      request.end(body);
    });
  }
}

function receive(
  response: IncomingMessage,
  { exchange, request, timers }: { exchange: Exchange; request: ClientRequest; timers: PhaseTimers },
  done: () => void,
): void {
  exchange.onHeaders(response.statusCode ?? 0, response.headers['content-type'] ?? '');
  response.on('data', (bytes: Buffer) => {
    timers.phase('idle');
    if (exchange.onBytes(bytes)) return;
    done();
    request.destroy();
  });
  response.once('end', done);
  // A connection that breaks after the headers: the reply says by itself that it is not whole.
  response.once('error', (error) => {
    if (error instanceof AppError) request.emit('error', error);
    else done();
  });
}

/** Ends a request that stays in one phase for too long. */
class PhaseTimers {
  readonly #limits: ExchangeLimits;
  readonly #request: ClientRequest;
  readonly #total: NodeJS.Timeout;
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: ExchangeLimits, request: ClientRequest) {
    this.#limits = limits;
    this.#request = request;
    this.#total = setTimeout(() => this.#end('total', limits.totalMs), limits.totalMs);
    this.phase('connect');
    request.once('socket', (socket) => {
      if (socket.connecting) socket.once('connect', () => this.phase('queued'));
      else this.phase('queued');
    });
  }

  phase(phase: 'connect' | 'queued' | 'idle'): void {
    clearTimeout(this.#timer);
    if (this.#request.destroyed) return;
    const ms = this.#limits[`${phase}Ms`];
    this.#timer = setTimeout(() => this.#end(phase, ms), ms);
  }

  stop(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#total);
  }

  #end(phase: 'connect' | 'queued' | 'idle' | 'total', ms: number): void {
    const what = {
      connect: 'did not accept a connection',
      queued: 'had no free slot',
      idle: 'sent nothing',
      total: 'did not finish its reply',
    }[phase];
    // Asking again after a long wait would only wait as long again.
    const retry = phase === 'connect' ? 'again' : 'never';
    this.#request.destroy(
      modelFault('model-unavailable', `the model server ${what} within ${ms} ms`, { retry, phase }),
    );
  }
}

function parseUrl(url: string): URL {
  if (!URL.canParse(url)) throw invalid(url, 'not a URL');
  const parsed = new URL(url);
  if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:')
    throw invalid(url, 'neither http nor https nor unix');
  return parsed;
}

function invalid(url: string, why: string): AppError {
  return new AppError('config-invalid', `the model url ${JSON.stringify(url)}: ${why}`, {
    details: { field: 'model.url', value: url },
  });
}

export function cancelled(): AppError {
  return modelFault('model-unavailable', 'the request was cancelled', { retry: 'never' });
}

function isReset(error: unknown): boolean {
  return ['ECONNRESET', 'EPIPE'].includes((error as NodeJS.ErrnoException).code ?? '');
}

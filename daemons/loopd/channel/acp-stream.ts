/**
 * One client's bytes as the messages that the protocol's SDK reads and writes, within limits: lines, depth, requests
 * under way, and what a client leaves unread. What is no message is answered here and never reaches the SDK.
 */
import type { Duplex } from 'node:stream';
import type { AnyMessage, AnyRequest, AnyResponse, Stream } from '@agentclientprotocol/sdk';
import { AppError } from '../../../shared/errors.ts';
import { isDeeperThan, LineSplitter, parseLine, type Line } from '../../../shared/wire.ts';
import { acpCodes, appRequestError, invalidParamsText } from './error-reply.ts';

export interface ChannelLimits {
  readonly lineBytesMax: number;
  readonly depthMax: number;
  /** Requests of one connection under way, besides prompts; then it is not read further. */
  readonly inFlightMax: number;
  /** What a client has not read; then it is dropped. */
  readonly unreadBytesMax: number;
}

const lingerMs = 2_000;
/** Of one connection; far more than anybody has sessions. */
const promptsInFlightMax = 1_024;
/** Above this whoever sends much waits; far below the limit at which a client is dropped. */
const replayBytesMax = 1024 * 1024;

export class AcpStream {
  readonly #duplex: Duplex;
  readonly #limits: ChannelLimits;
  readonly #splitter: LineSplitter;
  readonly #asked = new Set<unknown>();
  #waiting: Line[] = [];
  #inFlight = 0;
  /** Prompts under way, by id: they wait for turns, and whoever sent them must still be heard. */
  readonly #prompts = new Map<unknown, number>();
  #promptsInFlight = 0;
  #hasEnded = false;
  #isClosed = false;
  #controller: ReadableStreamDefaultController<AnyMessage> | undefined;
  readonly stream: Stream;

  constructor(duplex: Duplex, limits: ChannelLimits) {
    this.#duplex = duplex;
    this.#limits = limits;
    this.#splitter = new LineSplitter(limits.lineBytesMax);
    this.stream = {
      readable: new ReadableStream<AnyMessage>({
        start: (controller) => void (this.#controller = controller),
        cancel: () => this.close(),
      }),
      writable: new WritableStream<AnyMessage>({ write: (message) => this.#write(message) }),
    };
    duplex.on('data', (chunk: Buffer) => this.#take(chunk));
    duplex.on('end', () => this.#end());
    // A client that vanishes is no fault of ours; without a listener it would end the process.
    duplex.on('error', () => duplex.destroy());
    duplex.once('close', () => this.#closeReadable());
  }

  /** Resolves when there is room for more: whoever sends a whole session waits here, a running turn never does. */
  async drained(): Promise<void> {
    while (!this.#duplex.destroyed && this.#duplex.writableLength > replayBytesMax) {
      await new Promise<void>((resolve) => {
        const settle = () => {
          this.#duplex.removeListener('drain', settle);
          this.#duplex.removeListener('close', settle);
          resolve();
        };
        this.#duplex.once('drain', settle);
        this.#duplex.once('close', settle);
      });
    }
  }

  /** Sends what was written, then ends. */
  close(): void {
    this.#closeReadable();
    if (this.#duplex.destroyed || this.#duplex.writableEnded) return;
    this.#duplex.end();
    // A client that goes on sending, or never reads the rest, does not keep the connection.
    const late = setTimeout(() => this.#duplex.destroy(), lingerMs);
    this.#duplex.once('close', () => clearTimeout(late));
  }

  #take(chunk: Buffer): void {
    if (this.#hasEnded) return;
    this.#waiting.push(...this.#splitter.push(chunk));
    this.#work();
    if (this.#splitter.isOver) this.#refuseLine();
  }

  #end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#waiting.push(...this.#splitter.end());
    this.#work();
    this.#closeWhenAnswered();
  }

  #refuseLine(): void {
    this.#hasEnded = true;
    this.#waiting = [];
    const message = `a message is over ${this.#limits.lineBytesMax} bytes`;
    const error = appRequestError(new AppError('message-too-large', message));
    this.#write({ jsonrpc: '2.0', id: null, error: error.toErrorResponse() });
    // What came before is answered, if it does not take long.
    this.#closeWhenAnswered();
    const late = setTimeout(() => this.close(), lingerMs);
    this.#duplex.once('close', () => clearTimeout(late));
  }

  #work(): void {
    let at = 0;
    while (at < this.#waiting.length && this.#mayTakeMore) {
      this.#receive(this.#waiting[at]);
      at += 1;
    }
    this.#waiting = this.#waiting.slice(at);
    if (this.#waiting.length > 0) this.#duplex.pause();
    else if (this.#duplex.isPaused() && !this.#hasEnded) this.#duplex.resume();
  }

  get #mayTakeMore(): boolean {
    return this.#inFlight < this.#limits.inFlightMax && this.#promptsInFlight < promptsInFlightMax;
  }

  #begin({ id, method }: { id?: unknown; method?: unknown }): void {
    if (method !== 'session/prompt') {
      this.#inFlight += 1;
      return;
    }
    this.#promptsInFlight += 1;
    this.#prompts.set(id, (this.#prompts.get(id) ?? 0) + 1);
  }

  #over(id: unknown): void {
    const prompts = this.#prompts.get(id);
    if (prompts === undefined) {
      this.#inFlight = Math.max(0, this.#inFlight - 1);
      return;
    }
    this.#promptsInFlight -= 1;
    if (prompts > 1) this.#prompts.set(id, prompts - 1);
    else this.#prompts.delete(id);
  }

  #receive(line: Line): void {
    if (line === undefined) return this.#refuse(acpCodes.parse, 'Parse error: not UTF-8');
    if (isDeeperThan(line, this.#limits.depthMax)) {
      return this.#refuse(acpCodes.request, `Invalid request: nested deeper than ${this.#limits.depthMax}`);
    }
    let value: unknown;
    try {
      value = parseLine(line);
    } catch {
      return this.#refuse(acpCodes.parse, 'Parse error: not JSON');
    }
    if (Array.isArray(value)) return this.#refuse(acpCodes.request, 'Invalid request: no batches');
    if (typeof value !== 'object' || value === null)
      return this.#refuse(acpCodes.request, 'Invalid request: no object');
    const message = value as AnyMessage & { method?: unknown; id?: unknown; params?: unknown };
    if (message.method !== undefined && !isRequestId(message.id)) {
      return this.#refuse(acpCodes.request, 'Invalid request: "id" must be a string or an integer');
    }
    if (message.method !== undefined && (message.jsonrpc !== '2.0' || typeof message.method !== 'string')) {
      return this.#refuse(
        acpCodes.request,
        'Invalid request: "jsonrpc" must be "2.0", "method" a string',
        message.id,
      );
    }
    if (message.method === undefined) {
      // A reply that nobody waits for says nothing.
      if (message.id !== undefined && !this.#asked.delete(message.id)) return;
    } else if (message.id !== undefined) this.#begin(message);
    else if (!isUsableNotification(message)) return;
    this.#controller?.enqueue(withDefaults(message as AnyRequest));
  }

  /** What never counted as under way: the SDK would answer it without its id, and it would count for ever. */
  #refuse(code: number, message: string, id: unknown = null): void {
    this.#send({ jsonrpc: '2.0', id: id as string | number | null, error: { code, message } });
  }

  #write(message: AnyMessage): void {
    if (this.#duplex.destroyed || this.#duplex.writableEnded) return;
    const isReply = !('method' in message);
    if (!isReply && 'id' in message) this.#asked.add(message.id);
    this.#send(isReply ? withFields(message) : message);
    if (this.#duplex.destroyed || !isReply || message.id === null) return;
    this.#over(message.id);
    if (this.#waiting.length > 0) this.#work();
    this.#closeWhenAnswered();
  }

  #send(message: AnyMessage): void {
    if (this.#duplex.destroyed || this.#duplex.writableEnded) return;
    this.#duplex.write(`${JSON.stringify(message)}\n`);
    if (this.#duplex.writableLength > this.#limits.unreadBytesMax) this.#duplex.destroy();
  }

  /** A client may end its side after its last request and still read the answers. */
  #closeWhenAnswered(): void {
    const isAnswered = this.#inFlight === 0 && this.#promptsInFlight === 0 && this.#waiting.length === 0;
    if (this.#hasEnded && isAnswered) this.close();
  }

  #closeReadable(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    try {
      this.#controller?.close();
    } catch {
      // Cancelled by the SDK before.
    }
  }
}

/** Absent is a notification. */
function isRequestId(id: unknown): boolean {
  return id === undefined || typeof id === 'string' || Number.isSafeInteger(id);
}

/** The SDK checks notifications loudly, on standard error; what would fail there is dropped here. */
function isUsableNotification({ method, params }: { method?: unknown; params?: unknown }): boolean {
  if (method !== 'session/cancel') return true;
  return typeof (params as { sessionId?: unknown } | undefined)?.sessionId === 'string';
}

const withMcpServers = new Set(['session/new', 'session/load']);

/** A client that has no MCP servers to name may leave the list out. */
function withDefaults(message: AnyRequest): AnyRequest {
  const { method, params } = message;
  if (!withMcpServers.has(method) || typeof params !== 'object' || params === null) return message;
  return 'mcpServers' in params ? message : { ...message, params: { ...params, mcpServers: [] } };
}

/** A reply that refuses parameters, with the fields that are wrong in its message. */
function withFields(reply: AnyResponse): AnyResponse {
  if (!('error' in reply) || reply.error.message !== 'Invalid params') return reply;
  const { code, data } = reply.error;
  return {
    ...reply,
    error: { code, message: invalidParamsText(data), ...(data === undefined ? {} : { data }) },
  };
}

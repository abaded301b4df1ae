/** A bare client of a socket: it sends what it is told, repeats nothing, and says of each request what became of it. */
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { LineSplitter } from '../../../shared/wire.ts';

export interface WireError {
  readonly code: number;
  readonly message: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** A result, an error, or neither: the connection ended before the reply, so that the outcome is not known. */
export type Answer =
  | { readonly result: Readonly<Record<string, unknown>> }
  | { readonly error: WireError }
  | { readonly isCut: true };

export interface Message {
  readonly id?: number | string | null;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: WireError;
}

const lineBytesMax = 256 * 1024 * 1024;
const connectPauseMs = 5;
const connectsMax = 400;

export class LineClient {
  readonly socket: Socket;
  readonly closed: Promise<void>;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  #lastId = 0;
  #isOpen = true;
  /** Called with what is no reply to a request of ours. */
  onMessage: (message: Message) => void = () => {};

  private constructor(socket: Socket) {
    this.socket = socket;
    const splitter = new LineSplitter(lineBytesMax);
    socket.on('data', (chunk: Buffer) => {
      for (const line of splitter.push(chunk)) this.#take(JSON.parse(line ?? 'null') as Message);
    });
    socket.on('error', () => socket.destroy());
    socket.on('end', () => socket.destroy());
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        this.#isOpen = false;
        for (const settle of this.#waiting.values()) settle({ isCut: true });
        this.#waiting.clear();
        resolve();
      });
    });
  }

  /** @returns undefined where nobody listens, although it was tried for a while */
  static async open(path: string): Promise<LineClient | undefined> {
    for (let tried = 0; tried < connectsMax; tried += 1) {
      const opened = await opening(path);
      if (opened !== 'EAGAIN') return typeof opened === 'string' ? undefined : new LineClient(opened);
      await sleep(connectPauseMs);
    }
    return undefined;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** The id of the next request. */
  get nextId(): number {
    return this.#lastId + 1;
  }

  startIdsAt(first: number): void {
    this.#lastId = first;
  }

  ask(method: string, params: object): Promise<Answer> {
    if (!this.#isOpen) return Promise.resolve({ isCut: true });
    const id = (this.#lastId += 1);
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.socket.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    });
  }

  /** The result. @throws Error where the answer is another one */
  async call(method: string, params: object): Promise<Readonly<Record<string, unknown>>> {
    const answer = await this.ask(method, params);
    if ('result' in answer) return answer.result;
    throw new Error(`${method} ${JSON.stringify(params).slice(0, 300)}: ${JSON.stringify(answer)}`);
  }

  #take(message: Message): void {
    const { id, result, error } = message;
    const settle = message.method === undefined ? this.#waiting.get(id as number) : undefined;
    if (settle === undefined) return this.onMessage(message);
    this.#waiting.delete(id as number);
    settle(error === undefined ? { result: result ?? {} } : { error });
  }

  destroy(): void {
    this.socket.destroy();
  }
}

/** An open socket, or the error code of the attempt. */
function opening(path: string): Promise<Socket | string> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    const fail = ({ code = 'error' }: NodeJS.ErrnoException) => {
      socket.destroy();
      resolve(code);
    };
    socket.once('error', fail);
    socket.once('connect', () => {
      socket.removeListener('error', fail);
      resolve(socket);
    });
  });
}

/** One connection as bytes: what is written by hand goes out as it is, what comes back is split into lines. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Answer {
  readonly id?: string | number | null;
  readonly result?: Record<string, unknown>;
  readonly error?: { code: number; message: string; data?: Record<string, unknown> };
}

export interface Wire {
  write(bytes: string | Buffer): void;
  send(id: string, method: string, params: object): void;
  /** The next line, in the order of arrival; undefined where the connection ends or stays silent. */
  next(): Promise<Answer | undefined>;
  /** For a connection on which nothing else is under way. */
  ask(method: string, params?: object): Promise<Answer>;
  pause(): void;
  resume(): void;
  close(): void;
  /** Whether the daemon closes the connection before it counts as silent. */
  closes(): Promise<boolean>;
  readonly lastLine: string;
}

const silenceMs = 20_000;

export async function openWire(path: string): Promise<Wire> {
  const socket = connect(path);
  socket.on('error', () => undefined);
  const lines: string[] = [];
  let tail = Buffer.alloc(0);
  let lastLine = '';
  let wake = () => undefined as void;
  const closed = new Promise<void>((resolve) => socket.once('close', () => (wake(), resolve())));
  socket.on('data', (chunk: Buffer) => {
    tail = Buffer.concat([tail, chunk]);
    for (let end = tail.indexOf(0x0a); end >= 0; end = tail.indexOf(0x0a)) {
      lines.push(tail.toString('utf8', 0, end));
      tail = tail.subarray(end + 1);
    }
    wake();
  });
  await once(socket, 'connect');
  const send = (id: string, method: string, params: object) =>
    void socket.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
  const next = async (): Promise<Answer | undefined> => {
    if (lines.length === 0 && !socket.destroyed) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, silenceMs);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    const line = lines.shift();
    if (line === undefined) return socket.destroyed ? undefined : next();
    lastLine = line;
    return JSON.parse(line) as Answer;
  };
  return {
    write: (bytes) => void socket.write(bytes),
    send,
    next,
    ask: async (method, params = {}) => {
      send('ask', method, params);
      return (await next()) ?? {};
    },
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    close: () => void socket.destroy(),
    closes: () => Promise.race([closed.then(() => true), sleep(silenceMs, false, { ref: false })]),
    get lastLine() {
      return lastLine;
    },
  };
}

/** What a program decides on: our code of an error; undefined where there is none. */
export function codeOf(answer: Answer | undefined): unknown {
  return answer?.error?.data?.['code'] ?? answer?.error?.code;
}

/** An outside broker that decides on tool calls, asked over a Unix socket; without its word nothing is allowed. */
import { connect } from 'node:net';
import { AppError } from '../../../shared/errors.ts';
import { checkSocketPath } from '../../../shared/socket-path.ts';
import { LineSplitter } from '../../../shared/wire.ts';
import type { Decision } from '../turn/effects.ts';

interface BrokerQuestion {
  readonly session: string;
  readonly turn: number;
  readonly call: string;
  /** `recall`, or `server/tool` for a tool of an MCP server. */
  readonly tool: string;
  readonly arguments: unknown;
}

interface BrokerOptions {
  readonly socket: string;
  readonly timeoutMs: number;
}

const replyBytesMax = 1024 * 1024;
const ruleCharsMax = 500;

/** One connection for each question: nothing to keep alive, and a broker may restart at any time. */
export class Broker {
  readonly #options: BrokerOptions;

  /** @throws AppError socket-path-too-long */
  constructor(options: BrokerOptions) {
    checkSocketPath(options.socket);
    this.#options = options;
  }

  /** @throws AppError broker-unavailable: unreachable, too late, an error, or an answer that is no verdict */
  async decide(question: BrokerQuestion, signal: AbortSignal): Promise<Decision> {
    const line = await this.#answer(`${JSON.stringify(requestOf(question))}\n`, signal);
    return decisionOf(line);
  }

  #answer(request: string, signal: AbortSignal): Promise<string> {
    const { socket: path, timeoutMs } = this.#options;
    return new Promise((resolve, reject) => {
      const socket = connect(path);
      const splitter = new LineSplitter(replyBytesMax);
      const settle = (settled: () => void) => {
        clearTimeout(timer);
        signal.removeEventListener('abort', abort);
        socket.destroy();
        settled();
      };
      const fail = (reason: string) => settle(() => reject(unavailable(reason)));
      const abort = () => fail('the turn was cancelled');
      const timer = setTimeout(() => fail(`no verdict within ${timeoutMs} ms`), timeoutMs);
      if (signal.aborted) return abort();
      signal.addEventListener('abort', abort, { once: true });
      socket.once('error', (error: NodeJS.ErrnoException) => fail(`${path}: ${error.code ?? error.message}`));
      socket.once('close', () => fail('closed the connection without a verdict'));
      socket.once('connect', () => socket.write(request));
      socket.on('data', (chunk: Buffer) => {
        const lines = splitter.push(chunk);
        if (splitter.isOver) return fail(`an answer over ${replyBytesMax} bytes`);
        const [line] = lines;
        if (lines.length > 0) settle(() => resolve(line ?? ''));
      });
    });
  }
}

function requestOf(question: BrokerQuestion): object {
  return { jsonrpc: '2.0', id: 1, method: 'decide', params: question };
}

function decisionOf(line: string): Decision {
  let reply: unknown;
  try {
    reply = JSON.parse(line);
  } catch (cause) {
    throw unavailable('the answer is not JSON', cause);
  }
  const { id, result, error } = (reply ?? {}) as {
    id?: unknown;
    result?: { verdict?: unknown; rule?: unknown };
    error?: { message?: unknown };
  };
  if (error !== undefined) throw unavailable(`it answered with an error: ${String(error?.message)}`);
  const verdict = result?.verdict;
  if (id !== 1 || (verdict !== 'allow' && verdict !== 'deny'))
    throw unavailable('the answer holds no verdict');
  const rule =
    typeof result?.rule === 'string' ? result.rule.slice(0, ruleCharsMax).toWellFormed() : 'no rule named';
  return { verdict, rule: `broker: ${rule}` };
}

function unavailable(reason: string, cause?: unknown): AppError {
  return new AppError('broker-unavailable', `the broker could not decide: ${reason}`, {
    details: { cause: reason },
    ...(cause === undefined ? {} : { cause }),
  });
}

/** One line of JSON-RPC in, one reply out: parse, check, role, order, handler. No sockets here. */
import { AppError, toAppError, type ErrorCode } from './errors.ts';
import { ParamsError } from './params-error.ts';
import type { Handlers, Method, Protocol, Role } from './protocol/method.ts';
import { RawJson } from './raw-json.ts';
import { checkOf, type Check } from './schema-check.ts';
import { isDeeperThan, parseLine, topLevelOf, type Line } from './wire.ts';

export type RequestId = string | number | null;

export const rpcCodes = {
  parse: -32700,
  request: -32600,
  method: -32601,
  params: -32602,
  app: -32000,
} as const;

interface Request {
  readonly id: RequestId | undefined;
  readonly method: string;
  readonly params: unknown;
}

type Run = (params: unknown, role: Role) => unknown;

interface Entry {
  readonly method: Method;
  readonly check: Check;
  readonly run: Run;
}

interface DispatchOptions<P extends Protocol, C> {
  readonly protocol: P;
  readonly handlers: Handlers<P, C>;
  readonly context: C;
  readonly depthMax: number;
  /** Called with each error that is answered, so that faults are counted and bugs are logged. */
  readonly onError: (error: AppError, method: string) => void;
}

/** Turns lines into replies for any number of connections. */
export class Dispatch {
  readonly #entries: ReadonlyMap<string, Entry>;
  readonly #depthMax: number;
  readonly #onError: (error: AppError, method: string) => void;
  isStopping = false;

  constructor(
    entries: ReadonlyMap<string, Entry>,
    depthMax: number,
    onError: (error: AppError, method: string) => void,
  ) {
    this.#entries = entries;
    this.#depthMax = depthMax;
    this.#onError = onError;
  }

  static of<P extends Protocol, C>({
    protocol,
    handlers,
    context,
    depthMax,
    onError,
  }: DispatchOptions<P, C>): Dispatch {
    const entries = new Map<string, Entry>();
    for (const [name, method] of Object.entries(protocol)) {
      const handler = handlers[name] as (
        params: unknown,
        context: C,
        call: { role: Role; method: string },
      ) => unknown;
      const run: Run = (params, role) => handler(params, context, { role, method: name });
      entries.set(name, { method, check: checkOf(method.params), run });
    }
    return new Dispatch(entries, depthMax, onError);
  }

  /** The order of one connection: its writes take effect as they were sent. */
  connection(role: Role): ConnectionDispatch {
    return new ConnectionDispatch(this, role);
  }

  /** The method behind a line, or the reply that says what is wrong with it. */
  read(line: Line, role: Role): { entry: Entry; request: Request } | { reply: string | undefined } {
    if (line === undefined) return { reply: errorLine(null, rpcCodes.parse, 'not UTF-8') };
    const isTooDeep = isDeeperThan(line, this.#depthMax);
    let value: unknown;
    try {
      value = parseLine(isTooDeep ? topLevelOf(line) : line);
    } catch (thrown) {
      return { reply: errorLine(null, rpcCodes.parse, `not JSON: ${(thrown as Error).message}`) };
    }
    const request = isTooDeep ? `nested deeper than ${this.#depthMax}` : requestOf(value);
    if (typeof request === 'string') return { reply: errorLine(idOf(value), rpcCodes.request, request) };
    const refuse = (code: number, message: string, data?: unknown) => ({
      reply: request.id === undefined ? undefined : errorLine(request.id, code, message, data),
    });
    const entry = this.#entries.get(request.method);
    if (entry === undefined)
      return refuse(rpcCodes.method, `no such method: ${request.method.slice(0, 100)}`);
    if (this.isStopping)
      return { reply: this.failed(request, new AppError('stopping', 'stopping: send it again soon')) };
    if (!entry.method.roles.includes(role)) {
      const error = new AppError('not-permitted', `role ${role} may not call ${request.method}`, {
        details: { role },
      });
      return { reply: this.failed(request, error) };
    }
    const fault = entry.check(request.params);
    if (fault !== undefined) {
      const { field, message, value: wrong } = fault;
      return refuse(rpcCodes.params, `${field || 'params'} ${message}`, { field, value: shortened(wrong) });
    }
    return { entry, request };
  }

  failed({ id, method }: Request, thrown: unknown): string | undefined {
    if (thrown instanceof ParamsError) {
      const data = { field: thrown.field, value: shortened(thrown.value) };
      return id === undefined ? undefined : errorLine(id, rpcCodes.params, thrown.message, data);
    }
    const error = toAppError(thrown);
    this.#onError(error, method);
    return id === undefined ? undefined : appErrorLine(id, error);
  }
}

/** Runs the requests of one connection; replies come in any order, writes take effect in the order sent. */
export class ConnectionDispatch {
  readonly #dispatch: Dispatch;
  readonly #role: Role;
  /** Resolves when the last exclusive write is over; undefined when none is under way. */
  #exclusive: Promise<unknown> | undefined;
  readonly #queued = new Set<Promise<unknown>>();

  constructor(dispatch: Dispatch, role: Role) {
    this.#dispatch = dispatch;
    this.#role = role;
  }

  /** The reply to a line; undefined where none is due. A promise only where the handler gave one. */
  handle(line: Line): string | undefined | Promise<string | undefined> {
    const read = this.#dispatch.read(line, this.#role);
    if ('reply' in read) return read.reply;
    const { entry, request } = read;
    try {
      const result = this.#inOrder(entry.method, () => entry.run(request.params, this.#role));
      if (!(result instanceof Promise)) return replyLine(request.id, result);
      return result.then(
        (value) => replyLine(request.id, value),
        (thrown: unknown) => this.#dispatch.failed(request, thrown),
      );
    } catch (thrown) {
      return this.#dispatch.failed(request, thrown);
    }
  }

  #inOrder({ effect }: Method, run: () => unknown): unknown {
    if (effect === 'read') return run();
    const before = effect === 'exclusive' ? [...this.#queued] : [];
    if (this.#exclusive !== undefined) before.push(this.#exclusive);
    const result = before.length === 0 ? run() : Promise.allSettled(before).then(run);
    if (!(result instanceof Promise)) return result;
    const over = result.then(nothing, nothing);
    if (effect === 'queue') {
      this.#queued.add(over);
      void over.then(() => this.#queued.delete(over));
    } else {
      this.#exclusive = over;
      void over.then(() => {
        if (this.#exclusive === over) this.#exclusive = undefined;
      });
    }
    return result;
  }
}

function nothing(): void {}

function isId(id: unknown): id is string | number {
  return typeof id === 'string' || Number.isSafeInteger(id);
}

function idOf(value: unknown): RequestId {
  const id = (value as { id?: unknown } | null)?.id;
  return isId(id) ? id : null;
}

/** The request in a parsed line, or what is wrong with it. */
function requestOf(value: unknown): Request | string {
  if (Array.isArray(value)) return 'no batches: one message a line';
  if (typeof value !== 'object' || value === null) return 'not a request: an object is wanted';
  const { jsonrpc, id, method, params = {} } = value as Record<string, unknown>;
  if (jsonrpc !== '2.0') return 'not a request: "jsonrpc" must be "2.0"';
  if (typeof method !== 'string') return 'not a request: "method" must be a string';
  if (id !== undefined && !isId(id)) return 'not a request: "id" must be a string or an integer';
  return { id, method, params };
}

export function replyLine(id: RequestId | undefined, result: unknown): string | undefined {
  if (id === undefined) return undefined;
  const json = result instanceof RawJson ? result.json : JSON.stringify(result);
  return `{"jsonrpc":"2.0","id":${typeof id === 'number' ? id : JSON.stringify(id)},"result":${json}}\n`;
}

export function errorLine(id: RequestId, code: number, message: string, data?: unknown): string {
  return `${JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, ...(data === undefined ? {} : { data }) } })}\n`;
}

export function appErrorLine(id: RequestId, error: AppError): string {
  return errorLine(id, rpcCodes.app, error.message, error.toData());
}

/** An error line for a fault of the connection itself. */
export function connectionErrorLine(code: ErrorCode, message: string): string {
  return appErrorLine(null, new AppError(code, message));
}

const shownCharsMax = 200;

/** A refused value, short enough for a reply. */
export function shortened(value: unknown): unknown {
  if (typeof value === 'string')
    return value.length > shownCharsMax ? `${value.slice(0, shownCharsMax).toWellFormed()}…` : value;
  if (typeof value !== 'object' || value === null) return value;
  const json = JSON.stringify(value);
  return json.length > shownCharsMax ? `${json.slice(0, shownCharsMax).toWellFormed()}…` : value;
}

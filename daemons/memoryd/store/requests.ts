/** Remembers what was answered to a `request_id`, so that the same request sent again is done once. */
import { createHash } from 'node:crypto';
import { AppError } from '../../../shared/errors.ts';
import type { Role } from '../../../shared/protocol/method.ts';
import type { RecordOperation, RecordStore } from './record-store.ts';

/**
 *   rq/<role>/<request_id>      {digest, reply, at_ms}
 *
 * For a role: the sockets of two roles never see each other's answers.
 */
const prefix = 'rq/';
/** Longer than the day that is promised, so that no clock that is set makes it less. */
const keptMs = 2 * 24 * 60 * 60 * 1_000;
/** Deleted in one commit. */
const sweepBatchMax = 500;

export interface Call {
  readonly role: Role;
  readonly method: string;
}

interface Remembered {
  readonly digest: string;
  readonly reply: unknown;
  readonly at_ms: number;
}

interface Running {
  readonly digest: string;
  readonly reply: Promise<unknown>;
}

export class RequestLedger {
  readonly #store: Pick<RecordStore, 'get' | 'commit' | 'range'>;
  readonly #nowMs: () => number;
  readonly #running = new Map<string, Running>();

  constructor(store: Pick<RecordStore, 'get' | 'commit' | 'range'>, nowMs: () => number) {
    this.#store = store;
    this.#nowMs = nowMs;
  }

  /**
   * Starts the work before it returns, or does not start it at all: the same request was
   * answered before, or still runs. `remember` gives the operations that keep the reply;
   * they belong into the commit of the work, so that both are stored or neither. A
   * refusal is not remembered.
   * @throws AppError request-reused where the id came with other content
   */
  once<R>(
    call: Call,
    params: { readonly request_id?: string },
    work: (remember: (reply: R) => readonly RecordOperation[]) => Promise<R>,
  ): Promise<R> {
    const { request_id: id, ...content } = params;
    if (id === undefined || id === null) return work(() => []);
    try {
      const key = keyOf(call, id);
      const digest = digestOf(call, content);
      return this.#known<R>(key, digest) ?? this.#start(key, digest, work);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Forgets what is older than two days. It streams, and stops at a signal. @returns how many were forgotten */
  async sweep(signal?: AbortSignal): Promise<number> {
    const before = this.#nowMs() - keptMs;
    let old: RecordOperation[] = [];
    let swept = 0;
    const drop = async () => {
      await this.#store.commit(old);
      swept += old.length;
      old = [];
    };
    for await (const page of this.#store.range({ gte: prefix, lt: `${prefix}\u{10ffff}` })) {
      for (const entry of page) {
        if (signal?.aborted === true) return swept;
        // One that cannot be read is left for whoever looks into the damage.
        if (!('damaged' in entry) && remembered(entry.json).at_ms < before) {
          old.push({ type: 'del', key: entry.key });
        }
        if (old.length === sweepBatchMax) await drop();
      }
    }
    if (old.length > 0) await drop();
    return swept;
  }

  /** The reply to the same request, if it has one or will have one. */
  #known<R>(key: string, digest: string): Promise<R> | undefined {
    const running = this.#running.get(key);
    const stored = running === undefined ? this.#store.get(key) : undefined;
    const found = running ?? (stored === undefined ? undefined : remembered(stored.json));
    if (found === undefined) return undefined;
    if (found.digest === digest) return Promise.resolve(found.reply as R | Promise<R>);
    const id = key.slice(key.lastIndexOf('/') + 1);
    throw new AppError('request-reused', `request_id ${id} was used before with other content`, {
      details: { request_id: decodeURIComponent(id) },
    });
  }

  #start<R>(
    key: string,
    digest: string,
    work: (remember: (reply: R) => readonly RecordOperation[]) => Promise<R>,
  ): Promise<R> {
    const remember = (reply: R): RecordOperation[] => {
      const json = JSON.stringify({ digest, reply, at_ms: this.#nowMs() } satisfies Remembered);
      return [{ type: 'put', key, json }];
    };
    const reply = work(remember);
    this.#running.set(key, { digest, reply });
    const forget = () => this.#running.delete(key);
    reply.then(forget, forget);
    return reply;
  }
}

function keyOf({ role }: Call, id: string): string {
  return `${prefix}${role}/${encodeURIComponent(id.toWellFormed())}`;
}

/** The same for the same content, in whatever order its members came. */
function digestOf({ method }: Call, content: object): string {
  return createHash('sha256')
    .update(JSON.stringify([method, content], sortedMembers))
    .digest('hex');
}

function sortedMembers(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function remembered(json: string): Remembered {
  return JSON.parse(json) as Remembered;
}

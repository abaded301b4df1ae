/** What loopd asks of memoryd: the block of a new session, the work of two tools, and word that a log has grown. */
import { AppError, toAppError } from '../../shared/errors.ts';
import type { MemorydProtocol, MemoryParams, RecallParams } from '../../shared/protocol/memoryd.ts';
import type { BlockReply, MemoryReply, RecallReply } from '../../shared/protocol/replies.ts';
import type { Params, Result } from '../../shared/protocol/method.ts';

type Asked = 'block' | 'memory' | 'recall' | 'updated';

/** The client of memoryd's socket, or what a test puts in its place. */
export interface MemoryCaller {
  call<M extends Asked>(
    method: M,
    params: Params<MemorydProtocol, M>,
    options: { timeoutMs: number },
  ): Promise<Result<MemorydProtocol, M>>;
}

interface MemoryCounters {
  asked: number;
  failed: number;
  /** `updated` that memoryd did not take; each costs nothing but time, since it catches up by itself. */
  updatesLost: number;
  lastFailure?: { method: Asked; cause: string; at: string };
  lastSuccessAt?: string;
}

const toolTimeoutMs = 15_000;
const updatedTimeoutMs = 1_000;
const updatesInFlightMax = 64;
const graceMs = 250;

export class MemoryLink {
  readonly #caller: MemoryCaller;
  readonly #blockTimeoutMs: number;
  readonly #onLost: (session: string, cause: AppError) => void;
  readonly counters: MemoryCounters = { asked: 0, failed: 0, updatesLost: 0 };
  #updatesInFlight = 0;

  constructor(
    caller: MemoryCaller,
    options: { blockTimeoutMs: number; onLost?: (session: string, cause: AppError) => void },
  ) {
    this.#caller = caller;
    this.#blockTimeoutMs = options.blockTimeoutMs;
    this.#onLost = options.onLost ?? (() => {});
  }

  /** @throws AppError memory-unavailable, whatever the reason; `details.cause` names it. */
  async block(): Promise<BlockReply> {
    try {
      const block = await this.#ask('block', {}, this.#blockTimeoutMs);
      if (typeof block?.text !== 'string' || typeof block.version !== 'string') {
        throw new AppError('internal', 'memoryd answered without a block', {
          details: { cause: 'no-block-in-reply' },
        });
      }
      return block;
    } catch (thrown) {
      const error = toAppError(thrown);
      throw new AppError('memory-unavailable', `no memory block for a new session: ${error.message}`, {
        details: { cause: causeOf(error) },
        cause: error,
      });
    }
  }

  memory(params: MemoryParams): Promise<MemoryReply> {
    return this.#ask('memory', params, toolTimeoutMs);
  }

  recall(params: RecallParams): Promise<RecallReply> {
    return this.#ask('recall', params, toolTimeoutMs);
  }

  /** Best effort: never rejects. True where memoryd took it. */
  async updated(session: string): Promise<boolean> {
    if (this.#updatesInFlight >= updatesInFlightMax) return this.#lost(session, tooMany());
    this.#updatesInFlight += 1;
    try {
      await this.#ask('updated', { session }, updatedTimeoutMs);
      return true;
    } catch (thrown) {
      const error = toAppError(thrown);
      // A session that memoryd never saw and that is gone needs no forgetting.
      return error.code === 'session-unknown' || this.#lost(session, error);
    } finally {
      this.#updatesInFlight -= 1;
    }
  }

  #lost(session: string, cause: AppError): false {
    this.counters.updatesLost += 1;
    this.#onLost(session, cause);
    return false;
  }

  async #ask<M extends Asked>(
    method: M,
    params: Params<MemorydProtocol, M>,
    timeoutMs: number,
  ): Promise<Result<MemorydProtocol, M>> {
    this.counters.asked += 1;
    try {
      // The caller's own deadline lies behind this one, which knows that it was the time that was over.
      const call = this.#caller.call(method, params, { timeoutMs: timeoutMs + graceMs });
      const reply = await within(timeoutMs, call, method);
      this.counters.lastSuccessAt = new Date().toISOString();
      return reply;
    } catch (thrown) {
      this.counters.failed += 1;
      const cause = causeOf(toAppError(thrown));
      this.counters.lastFailure = { method, cause, at: new Date().toISOString() };
      throw thrown;
    }
  }
}

function tooMany(): AppError {
  return new AppError('memory-unavailable', 'too many updates wait for memoryd', {
    details: { cause: 'too-many-updates' },
  });
}

/** The code that a program can decide on: the deepest that is known. */
function causeOf(error: AppError): string {
  const { cause, errno } = error.details;
  if (typeof cause === 'string') return cause;
  return typeof errno === 'string' ? errno : error.code;
}

async function within<T>(timeoutMs: number, work: Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const fail = () =>
      reject(
        new AppError('memory-unavailable', `memoryd did not answer ${what} within ${timeoutMs} ms`, {
          details: { cause: 'timeout' },
        }),
      );
    timer = setTimeout(fail, timeoutMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

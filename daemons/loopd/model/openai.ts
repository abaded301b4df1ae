/** A model behind an OpenAI-compatible server, llama.cpp's llama-server first: what only that one understands is sent to it alone. */
import { AppError, toAppError } from '../../../shared/errors.ts';
import type { ModelReply, ModelRequest } from '../turn/effects.ts';
import { retryOf } from '../turn/retry.ts';
import { cancelled, ModelEndpoint, type ExchangeLimits } from './http-exchange.ts';
import type { AskContext, Model, ModelHealth } from './model.ts';
import { faultOfAnswer } from './model-fault.ts';
import { probeServer, type ServerFacts } from './probe.ts';
import { ReplyReader } from './reply-reader.ts';
import { Slots } from './slots.ts';

export interface OpenAiOptions {
  /** `http://127.0.0.1:8080`, without `/v1`, or `unix:/path`. */
  readonly url: string;
  readonly apiKey?: string;
  /** What the server calls the model; one that serves a single model does not care. */
  readonly name?: string;
  readonly temperature?: number;
  /** What the model can read, for a server that does not say it. */
  readonly contextTokens?: number;
  readonly limits?: Partial<ExchangeLimits>;
}

const defaultExchangeLimits: ExchangeLimits = {
  connectMs: 5000,
  queuedMs: 600_000,
  idleMs: 300_000,
  totalMs: 1_800_000,
};
/** Of a body that is no stream: an error, or a whole reply. */
const bodyBytesMax = 8 * 1024 * 1024;
/** The server stops writing by itself a little before we would stop waiting. */
const predictShare = 0.9;

interface Server extends ServerFacts {
  readonly slots: Slots | undefined;
}

export class OpenAiModel implements Model {
  readonly kind = 'openai';
  readonly #endpoint: ModelEndpoint;
  readonly #options: OpenAiOptions;
  readonly #limits: ExchangeLimits;
  #server: Promise<Server> | undefined;
  #contextTokens: number | undefined;
  #slots: Slots | undefined;
  #known: ServerFacts | undefined;

  /** @throws AppError config-invalid, socket-path-too-long */
  constructor(options: OpenAiOptions) {
    this.#options = options;
    this.#limits = { ...defaultExchangeLimits, ...options.limits };
    this.#endpoint = new ModelEndpoint(options.url, options.apiKey);
  }

  /** As configured, else as the server called it when it was last asked. */
  get name(): string {
    return this.#options.name ?? this.#known?.model ?? 'default';
  }

  async ask(request: ModelRequest, { session, onDelta, signal }: AskContext): Promise<ModelReply> {
    onDelta({ type: 'state', state: 'queued' });
    const server = await this.#probe(signal);
    const taken = server.slots?.take(session);
    const extras = server.isLlama
      ? { id_slot: taken?.slot, cache_prompt: true, return_progress: true, ...this.#predictLimit() }
      : {};
    try {
      return await this.#chat(bodyOf(request, { server, options: this.#options, extras }), {
        onDelta,
        signal,
      });
    } finally {
      taken?.done();
    }
  }

  async aside(request: ModelRequest, signal: AbortSignal): Promise<ModelReply | undefined> {
    const server = await this.#probe(signal);
    // A server whose cache we cannot place a request in would lose a session's prompt for this one.
    if (server.slots?.spare === undefined) return undefined;
    const extras = {
      id_slot: server.slots.spare,
      cache_prompt: true,
      chat_template_kwargs: { enable_thinking: false },
      ...this.#predictLimit(),
    };
    return this.#chat(bodyOf(request, { server, options: this.#options, extras }), {
      onDelta: () => {},
      signal,
    });
  }

  contextTokens(): number | undefined {
    return this.#options.contextTokens ?? this.#contextTokens;
  }

  async health(signal: AbortSignal): Promise<ModelHealth> {
    try {
      this.#server = undefined;
      const { contextTokens, totalSlots, warnings } = await this.#probe(signal);
      return {
        state: 'ready',
        ...(contextTokens === undefined ? {} : { contextTokens }),
        ...(totalSlots === undefined ? {} : { slots: totalSlots }),
        warnings,
      };
    } catch (thrown) {
      const error = toAppError(thrown);
      return { state: retryOf(error) === 'loading' ? 'loading' : 'unreachable', warnings: [error.message] };
    }
  }

  release(session: string): void {
    this.#slots?.release(session);
  }

  close(): void {
    this.#endpoint.close();
  }

  async #chat(
    body: string,
    { onDelta, signal }: Pick<AskContext, 'onDelta' | 'signal'>,
  ): Promise<ModelReply> {
    const reader = new ReplyReader(onDelta);
    let status = 0;
    let isStream = false;
    let rest = Buffer.alloc(0);
    try {
      await this.#endpoint.exchange({
        method: 'POST',
        path: '/v1/chat/completions',
        body,
        signal,
        limits: this.#limits,
        onHeaders: (code, contentType) => {
          status = code;
          isStream = code === 200 && contentType.startsWith('text/event-stream');
          if (isStream) onDelta({ type: 'state', state: 'reading' });
        },
        onBytes: (bytes) => {
          if (!isStream) rest = Buffer.concat([rest, bytes]);
          else reader.feed(bytes);
          return rest.length <= bodyBytesMax && !reader.isOver;
        },
      });
      if (status !== 200) throw faultOfAnswer(status, parsed(rest.toString()));
      if (!isStream) reader.feedWhole(rest.toString());
      return reader.reply();
    } catch (error) {
      // Whatever answers next may be another server, with other slots and another context.
      if (error instanceof AppError && error.code === 'model-unavailable') this.#server = undefined;
      throw error;
    }
  }

  #predictLimit(): { t_max_predict_ms: number } {
    return { t_max_predict_ms: Math.floor(this.#limits.totalMs * predictShare) };
  }

  /** Asked before the first request and after each fault; never while a request runs for its state. */
  #probe(signal: AbortSignal): Promise<Server> {
    // Shared by all sessions, so that no one of them may cancel it.
    this.#server ??= this.#look().catch((error: unknown) => {
      this.#server = undefined;
      throw error;
    });
    return unlessAborted(this.#server, signal);
  }

  async #look(): Promise<Server> {
    const facts = await probeServer(this.#endpoint, this.#limits);
    // The same number of slots: sessions keep theirs, which a server that was only busy still has in its cache.
    if (facts.totalSlots !== this.#known?.totalSlots)
      this.#slots = facts.totalSlots === undefined ? undefined : new Slots(facts.totalSlots);
    this.#known = facts;
    this.#contextTokens = facts.contextTokens;
    return { ...facts, slots: this.#slots };
  }
}

/** The body of a request: what is the same from one to the next comes first. */
function bodyOf(
  { messages, tools, toolChoice, maxTokens, seed }: ModelRequest,
  { server, options, extras }: { server: Server; options: OpenAiOptions; extras: Record<string, unknown> },
): string {
  const sent = server.isLlama
    ? messages
    : messages.map((message) => {
        if (message.role !== 'assistant') return message;
        // Not part of the protocol that other servers share.
        const { reasoning_content: _reasoning, ...rest } = message;
        return rest;
      });
  return JSON.stringify({
    model: options.name ?? server.model ?? 'default',
    ...(tools.length === 0 ? {} : { tools }),
    messages: sent,
    ...(tools.length === 0 ? {} : { tool_choice: toolChoice }),
    max_tokens: maxTokens,
    seed,
    ...(options.temperature === undefined ? {} : { temperature: options.temperature }),
    stream: true,
    stream_options: { include_usage: true },
    ...extras,
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(cancelled());
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

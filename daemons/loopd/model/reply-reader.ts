/** One reply of an OpenAI-compatible server, put together from its events; whole only when it said why it finished. */
import { createParser, type EventSourceParser } from 'eventsource-parser';
import type { AppError } from '../../../shared/errors.ts';
import type { Usage } from '../../../shared/protocol/sessions.ts';
import { estimateTokens } from '../../../shared/tokens.ts';
import type { ModelDelta, ModelReply } from '../turn/effects.ts';
import { modelFault } from '../turn/retry.ts';
import { CallPieces, type CallDelta } from './call-pieces.ts';
import { faultOfAnswer } from './model-fault.ts';

/** Of a whole reply; a server that goes on after this is stopped. */
const replyBytesMax = 8 * 1024 * 1024;

interface Chunk {
  error?: unknown;
  choices?: { finish_reason?: unknown; delta?: Message; message?: Message }[];
  usage?: Counts | null;
  timings?: { cache_n?: number; prompt_n?: number; predicted_n?: number };
  prompt_progress?: { total?: number; processed?: number };
}

interface Message {
  content?: unknown;
  reasoning_content?: unknown;
  reasoning?: unknown;
  tool_calls?: CallDelta[] | null;
}

interface Counts {
  prompt_tokens?: number;
  completion_tokens?: number;
  prompt_tokens_details?: { cached_tokens?: number } | null;
}

export class ReplyReader {
  readonly #onDelta: (delta: ModelDelta) => void;
  // One decoder for the whole stream: a character may lie in two reads.
  readonly #decoder = new TextDecoder();
  readonly #parser: EventSourceParser;
  readonly #calls = new CallPieces();
  #bytes = 0;
  #text = '';
  #reasoning = '';
  #finish: string | undefined;
  #usage: Counts | undefined;
  #timings: Chunk['timings'];
  #fault: AppError | undefined;
  #isWriting = false;

  constructor(onDelta: (delta: ModelDelta) => void) {
    this.#onDelta = onDelta;
    this.#parser = createParser({
      onEvent: ({ data }) => this.#event(data),
      maxBufferSize: replyBytesMax,
    });
  }

  /** Whether more of the reply can change anything. */
  get isOver(): boolean {
    return this.#fault !== undefined;
  }

  /** Bytes of an event stream, cut anywhere. */
  feed(bytes: Uint8Array): void {
    this.#bytes += bytes.length;
    if (this.#bytes > replyBytesMax)
      this.#fault ??= modelFault('model-refused', `a reply of more than ${replyBytesMax} bytes`, {
        retry: 'never',
      });
    if (!this.#fault) this.#parser.feed(this.#decoder.decode(bytes, { stream: true }));
  }

  /** A reply that came as one JSON text, from servers that do not stream. */
  feedWhole(json: string): void {
    this.#event(json);
  }

  /**
   * The reply, if it is whole.
   * @throws AppError model-unavailable (it broke off), or what the server said went wrong
   */
  reply(): ModelReply {
    // The last event may lack the empty line that ends it.
    this.#parser.reset({ consume: true });
    if (this.#fault) throw this.#fault;
    if (this.#finish === undefined)
      throw modelFault('model-unavailable', 'the reply of the model server broke off before its end', {
        retry: 'again',
      });
    return {
      text: this.#text,
      reasoning: this.#reasoning,
      calls: this.#calls.calls,
      finish: this.#finish,
      usage: this.#counted(),
    };
  }

  #event(data: string): void {
    if (data === '[DONE]' || this.#fault) return;
    let chunk: Chunk;
    try {
      chunk = JSON.parse(data) as Chunk;
    } catch (cause) {
      this.#fault = modelFault('model-unavailable', 'the model server sent an event that is not JSON', {
        retry: 'again',
        cause,
      });
      return;
    }
    if (chunk.error !== undefined && chunk.error !== null) {
      const { code } = chunk.error as { code?: unknown };
      this.#fault = faultOfAnswer(typeof code === 'number' ? code : 500, chunk);
      return;
    }
    const { prompt_progress: progress } = chunk;
    if (progress) this.#reading(progress);
    const choice = chunk.choices?.[0];
    const message = choice?.delta ?? choice?.message;
    if (message) this.#message(message);
    if (typeof choice?.finish_reason === 'string') this.#finish = choice.finish_reason;
    if (chunk.usage) this.#usage = chunk.usage;
    if (chunk.timings) this.#timings = chunk.timings;
  }

  #reading({ processed = 0, total = 0 }: NonNullable<Chunk['prompt_progress']>): void {
    this.#onDelta({ type: 'state', state: 'reading', done: processed, total });
  }

  #message({ content, reasoning_content, reasoning, tool_calls }: Message): void {
    const thought = textOf(reasoning_content ?? reasoning);
    const text = textOf(content);
    const calls = Array.isArray(tool_calls) ? tool_calls : [];
    if (!this.#isWriting && (thought || text || calls.length > 0)) {
      this.#isWriting = true;
      this.#onDelta({ type: 'state', state: 'writing' });
    }
    this.#reasoning += thought;
    this.#text += text;
    if (thought) this.#onDelta({ type: 'thought', delta: thought });
    if (text) this.#onDelta({ type: 'text', delta: text });
    for (const call of calls) this.#calls.add(call);
  }

  /** Some servers count nothing, or count zero: then the reply is estimated, and the prompt is left to who knows it. */
  #counted(): Usage {
    const { cache_n: cached, prompt_n: read, predicted_n: written } = this.#timings ?? {};
    const prompt = this.#usage?.prompt_tokens || (read === undefined ? 0 : read + (cached ?? 0));
    const completion =
      this.#usage?.completion_tokens ||
      written ||
      estimateTokens(this.#text + this.#reasoning + this.#calls.text);
    const fromCache = this.#usage?.prompt_tokens_details?.cached_tokens ?? cached;
    return {
      ...(prompt ? { prompt_tokens: prompt } : {}),
      completion_tokens: completion,
      ...(fromCache === undefined ? {} : { cached_tokens: fromCache }),
    };
  }
}

/** A text, or the parts that some servers cut it into. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part) => textOf((part as { text?: unknown } | null)?.text)).join('');
}

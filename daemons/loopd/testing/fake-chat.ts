/** Answers chat completions of the fake model server: checks, slot, tokens, events, faults. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { sendJson } from './fake-answer.ts';
import { checkChat, overflow, refusals, type ChatRequest, type FakeRefusal } from './fake-checks.ts';
import { FakeReply } from './fake-reply.ts';
import type { FakeSlots } from './fake-slots.ts';
import {
  filledIn,
  finishOf,
  frame,
  piecesOf,
  withoutCalls,
  writtenBy,
  type FakeRule,
  type FakeStep,
  type Framing,
} from './fake-step.ts';
import { renderPrompt, tokensOf } from './fake-template.ts';

/** What a test may ask about a request afterwards. */
export interface FakeRequest {
  /** The body, byte for byte. */
  readonly text: string;
  /** The same, parsed; without messages where it could not be. */
  body: ChatRequest;
  slot?: number;
  promptTokens?: number;
  cachedTokens?: number;
  status?: number;
  /** Bytes of the answer that were written. */
  sentBytes: number;
  /** The client went before the end. */
  isCutByClient: boolean;
}

interface ChatOptions {
  readonly slots: FakeSlots;
  readonly contextTokens: number;
  readonly requests: FakeRequest[];
  readonly modelName: string;
  readonly steps: FakeStep[];
  readonly rules: readonly FakeRule[];
}

const never = new Promise<never>(() => {});

export class FakeChat {
  readonly steps: FakeStep[];
  readonly #options: ChatOptions;
  #serial = 0;
  #held: (() => void)[] = [];

  constructor(options: ChatOptions) {
    this.#options = options;
    this.steps = options.steps;
  }

  release(): void {
    for (const go of this.#held.splice(0)) go();
  }

  countTokens(text: string): number {
    const { messages, tools = [] } = JSON.parse(text) as ChatRequest;
    return tokensOf(renderPrompt(messages, tools));
  }

  async answer(text: string, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const request: FakeRequest = { text, body: { messages: [] }, sentBytes: 0, isCutByClient: false };
    this.#options.requests.push(request);
    const gone = new Promise<'gone'>((resolve) => {
      response.once('close', () => {
        request.isCutByClient = !response.writableFinished;
        resolve('gone');
      });
    });
    // Nothing more is to be done for a client that left, whatever is waited for.
    await Promise.race([this.#answer(text, { request, incoming, response }), gone]);
  }

  async #answer(
    text: string,
    {
      request,
      incoming,
      response,
    }: { request: FakeRequest; incoming: IncomingMessage; response: ServerResponse },
  ): Promise<void> {
    const checked = checkChat(text);
    if ('error' in checked) return refuse(response, request, checked);
    request.body = checked;
    const { messages, tools = [], max_tokens: maxTokens = Infinity } = checked;
    const prompt = renderPrompt(messages, tools);
    const step = this.#step(checked);
    const promptTokens = step.promptTokens ?? tokensOf(prompt);
    if (promptTokens > this.#options.contextTokens)
      return refuse(response, request, overflow(promptTokens, this.#options.contextTokens));
    if (step.status !== undefined)
      return refuse(response, request, { status: step.status, error: step.error ?? {} });
    if (step.fault === 'reset-before-headers') return void incoming.socket.resetAndDestroy();
    if (step.fault === 'silence-before-headers') return never;
    if (step.hold === 'headers') await this.#hold();

    const taken = await this.#options.slots.take(prompt, checked.id_slot);
    const release = onceOnly(() => this.#options.slots.release(taken.slot, writtenBy(step)));
    // A slot is free again when its client is gone.
    response.once('close', release);
    Object.assign(request, { slot: taken.slot, promptTokens, cachedTokens: taken.cachedTokens, status: 200 });
    const all = piecesOf(step, this.#serial);
    const room = Math.min(Math.max(1, maxTokens), this.#options.contextTokens - promptTokens);
    const pieces = all.slice(0, room);
    const reply = new FakeReply({
      checked,
      step,
      taken: { ...taken, promptTokens },
      pieces,
      finish: pieces.length < all.length ? 'length' : finishOf(step),
      id: `chatcmpl-${String((this.#serial += 1)).padStart(32, '0')}`,
      model: this.#options.modelName,
    });
    if (checked.stream) await this.#stream(reply, { request, incoming, response });
    else {
      request.sentBytes = sendJson(response, 200, reply.whole());
    }
    release();
  }

  /** The next of the script, else the first rule that fits, else a short answer. */
  #step({ messages, tool_choice: choice }: ChatRequest): FakeStep {
    const last = messages.at(-1);
    const since = messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1);
    const results = since.filter(({ role }) => role === 'tool').length;
    const rule = this.#options.rules.find(
      (candidate) =>
        (candidate.last === undefined || candidate.last === last?.role) &&
        (candidate.contains === undefined || last?.content?.includes(candidate.contains)) &&
        (candidate.results === undefined || results >= candidate.results),
    );
    const said = messages.findLast(({ role }) => role === 'user')?.content ?? '';
    const step = filledIn(this.steps.shift() ?? rule?.step ?? { text: 'ok' }, said);
    return choice === 'none' && !step.ignoresNone && step.calls ? withoutCalls(step) : step;
  }

  async #stream(
    reply: FakeReply,
    {
      request,
      incoming,
      response,
    }: { request: FakeRequest; incoming: IncomingMessage; response: ServerResponse },
  ): Promise<void> {
    const { step } = reply.made;
    const framing = step.framing ?? 'event';
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' });
    response.flushHeaders();
    if (step.fault === 'silence-after-headers') return never;
    if (step.hold === 'data') await this.#hold();
    const write = writerOf(response, framing, (bytes) => (request.sentBytes += bytes));
    for (let ping = 0; ping < (step.pings ?? 0); ping += 1) await write.raw(':\n\n');
    const events = reply.events();
    const middle = Math.ceil(events.body.length / 2);
    for (const event of events.head) await write.event(event);
    for (const [at, event] of events.body.entries()) {
      if (at === middle && step.hold === 'middle') await this.#hold();
      if (step.delayMs) await wait(step.delayMs);
      await write.event(event);
    }
    await write.flush();
    if (step.fault === 'fin') return void incoming.socket.end();
    if (step.fault === 'reset') return void incoming.socket.resetAndDestroy();
    if (step.fault === 'error-event') await write.event({ error: refusals.format.error });
    else if (step.fault !== 'clean-end') {
      for (const event of events.tail) await write.event(event);
      await write.event('[DONE]');
    }
    await write.flush();
    response.end();
  }

  #hold(): Promise<void> {
    return new Promise((resolve) => this.#held.push(resolve));
  }
}

function writerOf(response: ServerResponse, framing: Framing, count: (bytes: number) => void) {
  let pending = Buffer.alloc(0);
  const send = async (bytes: Buffer) => {
    count(bytes.length);
    response.write(bytes);
    // A turn of the event loop between two writes makes two reads of them.
    await new Promise((resolve) => setImmediate(resolve));
  };
  const raw = async (text: string | Buffer) => {
    const bytes = Buffer.from(text);
    if (framing === 'all') pending = Buffer.concat([pending, bytes]);
    else if (framing === 'byte') for (const byte of bytes) await send(Buffer.from([byte]));
    else await send(bytes);
  };
  return {
    raw,
    event: (event: unknown) => raw(frame(typeof event === 'string' ? event : JSON.stringify(event), framing)),
    flush: async () => {
      if (pending.length > 0) await send(pending);
      pending = Buffer.alloc(0);
    },
  };
}

function refuse(response: ServerResponse, request: FakeRequest, { status, error }: FakeRefusal): void {
  request.status = status;
  sendJson(response, status, { error });
}

function onceOnly(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) work();
    isDone = true;
  };
}

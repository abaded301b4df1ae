/**
 * A llama-server without a model: its framing, its errors, its slots and their prefix cache, and replies that a test
 * writes down. Whatever it is told to do wrong, a real one was seen to do.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { sendJson } from './fake-answer.ts';
import { FakeChat, type FakeRequest } from './fake-chat.ts';
import { refusals, type FakeRefusal } from './fake-checks.ts';
import { FakeSlots } from './fake-slots.ts';
import type { FakeRule, FakeStep } from './fake-step.ts';
import { tokensOf } from './fake-template.ts';

export interface FakeModelOptions {
  /** A path, or a port; any free port without it. */
  readonly listen?: string | number;
  readonly slots?: number;
  readonly contextTokens?: number;
  readonly apiKey?: string;
  /** So many requests are told that the model loads. */
  readonly loadingRequests?: number;
  readonly steps?: readonly FakeStep[];
  readonly rules?: readonly FakeRule[];
  /** false: a server that is none of llama.cpp's, without /props and slots. */
  readonly isLlama?: boolean;
  readonly keepAliveMs?: number;
}

const keepAliveMsDefault = 5000;
const modelName = 'models/fake.gguf';

export class FakeModel {
  readonly requests: FakeRequest[] = [];
  readonly slots: FakeSlots;
  /** Requests by path, for what must not be asked often. */
  readonly paths = new Map<string, number>();
  readonly #options: FakeModelOptions;
  readonly #server: Server;
  readonly #chat: FakeChat;
  #loading: number;

  private constructor(options: FakeModelOptions) {
    this.#options = options;
    this.#loading = options.loadingRequests ?? 0;
    this.slots = new FakeSlots(options.slots ?? 1);
    this.#chat = new FakeChat({
      slots: this.slots,
      contextTokens: this.contextTokens,
      requests: this.requests,
      modelName,
      steps: [...(options.steps ?? [])],
      rules: options.rules ?? [],
    });
    this.#server = createServer((request, response) => void this.#answer(request, response));
    this.#server.keepAliveTimeout = options.keepAliveMs ?? keepAliveMsDefault;
  }

  static async start(options: FakeModelOptions = {}): Promise<FakeModel> {
    const fake = new FakeModel(options);
    const { listen = 0 } = options;
    if (typeof listen === 'string') fake.#server.listen(listen);
    else fake.#server.listen(listen, '127.0.0.1');
    await once(fake.#server, 'listening');
    return fake;
  }

  get contextTokens(): number {
    return this.#options.contextTokens ?? 8192;
  }

  get url(): string {
    const address = this.#server.address() as AddressInfo | string;
    return typeof address === 'string' ? `unix:${address}` : `http://127.0.0.1:${address.port}`;
  }

  /** What the next requests are answered with. */
  push(...steps: FakeStep[]): void {
    this.#chat.steps.push(...steps);
  }

  /** What was written down and not asked for is forgotten. */
  dropSteps(): void {
    this.#chat.steps.length = 0;
  }

  /** So many more requests are told that the model loads. */
  load(requests: number): void {
    this.#loading = requests;
  }

  /** Lets every step go on that is held. */
  release(): void {
    this.#chat.release();
  }

  async stop(): Promise<void> {
    this.#chat.release();
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '';
    this.paths.set(path, (this.paths.get(path) ?? 0) + 1);
    response.setHeader('Server', 'llama.cpp');
    const text = await bodyOf(request);
    if (path.startsWith('/fake/')) return this.#control(path, text, response);
    if (this.#loading > 0) {
      this.#loading -= 1;
      return refuse(response, refusals.loading);
    }
    const { apiKey } = this.#options;
    const isOpen = path === '/health' || path === '/v1/models';
    if (apiKey && !isOpen && request.headers.authorization !== `Bearer ${apiKey}`)
      return refuse(response, refusals.key);
    if (request.method === 'POST' && path === '/v1/chat/completions')
      return this.#chat.answer(text, request, response);
    const known = this.#facts(path, text);
    if (known === undefined || (this.#options.isLlama === false && path !== '/v1/models'))
      return refuse(response, refusals.path);
    sendJson(response, 200, known);
    return undefined;
  }

  #facts(path: string, text: string): unknown {
    switch (path) {
      case '/health':
        return { status: 'ok' };
      case '/props':
        return {
          default_generation_settings: { n_ctx: this.contextTokens },
          total_slots: this.slots.count,
          model_alias: modelName,
          model_path: modelName,
          chat_template_caps: { supports_tools: true, supports_tool_calls: true },
          build_info: 'fake',
          is_sleeping: false,
        };
      case '/v1/models':
        return { object: 'list', data: [{ id: modelName, object: 'model', owned_by: 'llamacpp' }] };
      case '/slots':
        return this.slots.state();
      case '/tokenize':
        return {
          tokens: Array.from(
            { length: tokensOf(String((JSON.parse(text) as { content?: unknown }).content)) },
            (_, at) => at,
          ),
        };
      case '/v1/chat/completions/input_tokens':
        return { input_tokens: this.#chat.countTokens(text), object: 'response.input_tokens' };
      default:
        return undefined;
    }
  }

  /** For a test that runs it as a process of its own. */
  #control(path: string, text: string, response: ServerResponse): void {
    if (path === '/fake/steps') this.push(...(JSON.parse(text) as FakeStep[]));
    else if (path === '/fake/release') this.release();
    else if (path === '/fake/load') this.load(Number(text));
    else if (path !== '/fake/requests') return refuse(response, refusals.path);
    sendJson(response, 200, path === '/fake/requests' ? this.requests : {});
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString();
}

function refuse(response: ServerResponse, { status, error }: FakeRefusal): void {
  sendJson(response, status, { error });
}

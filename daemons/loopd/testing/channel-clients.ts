/** Clients of the channel for tests: the protocol's own SDK, and one that writes and reads raw lines. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { Readable, Writable } from 'node:stream';
import {
  client,
  ndJsonStream,
  RequestError,
  type ClientContext,
  type PromptResponse,
  type SessionUpdate,
} from '@agentclientprotocol/sdk';

export class TestClient {
  readonly updates: SessionUpdate[] = [];
  readonly socket: Socket;
  agent!: ClientContext;
  #onUpdate: (() => void) | undefined;

  private constructor(socket: Socket) {
    this.socket = socket;
  }

  static async over(socket: Socket, onAsk?: (title: string) => string | undefined): Promise<TestClient> {
    const test = new TestClient(socket);
    const stream = ndJsonStream(Writable.toWeb(socket), Readable.toWeb(socket) as ReadableStream<Uint8Array>);
    const app = client({ name: 'test' }).onNotification('session/update', ({ params }) => {
      test.updates.push(params.update);
      test.#onUpdate?.();
    });
    if (onAsk !== undefined) {
      app.onRequest('session/request_permission', ({ params }) => {
        const optionId = onAsk(params.toolCall.title ?? '');
        return {
          outcome: optionId === undefined ? { outcome: 'cancelled' } : { outcome: 'selected', optionId },
        };
      });
    }
    test.agent = app.connect(stream).agent;
    await test.agent.request('initialize', { protocolVersion: 1 });
    return test;
  }

  async newSession(meta: Record<string, unknown> = {}): Promise<string> {
    const { sessionId } = await this.agent.request('session/new', { cwd: '/', mcpServers: [], _meta: meta });
    return sessionId;
  }

  prompt(sessionId: string, text: string, meta: Record<string, unknown> = {}): Promise<PromptResponse> {
    const prompt = [{ type: 'text' as const, text }];
    return this.agent.request('session/prompt', { sessionId, prompt, _meta: meta });
  }

  /** The texts of one kind of message, put together. */
  text(kind: 'agent_message_chunk' | 'user_message_chunk' | 'agent_thought_chunk'): string {
    return this.updates
      .map((update) =>
        update.sessionUpdate === kind && update.content.type === 'text' ? update.content.text : '',
      )
      .join('');
  }

  /** Resolves when the updates so far are as wanted. */
  async seen(fits: (updates: SessionUpdate[]) => boolean): Promise<void> {
    while (!fits(this.updates)) {
      await new Promise<void>((resolve) => {
        this.#onUpdate = resolve;
      });
    }
  }
}

export interface RawMessage {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: Record<string, unknown>;
  readonly error?: { code: number; message: string; data?: Record<string, unknown> };
}

export class RawClient {
  readonly socket: Socket;
  readonly messages: RawMessage[] = [];
  readonly ended: Promise<void>;
  #rest = '';
  #onMessage: (() => void) | undefined;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => this.#take(chunk.toString()));
    this.ended = new Promise((resolve) => {
      socket.once('end', resolve);
      socket.once('close', () => resolve());
    });
  }

  write(line: string | object): void {
    this.socket.write(typeof line === 'string' ? line : `${JSON.stringify({ jsonrpc: '2.0', ...line })}\n`);
  }

  async reply(id: unknown): Promise<RawMessage> {
    for (;;) {
      const found = this.messages.find((message) => message.id === id && message.method === undefined);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => {
        this.#onMessage = resolve;
      });
    }
  }

  #take(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.messages.push(JSON.parse(line) as RawMessage);
    this.#onMessage?.();
  }
}

/** The error that a request is answered with. */
export async function failure(
  work: Promise<unknown>,
): Promise<{ code: number; data: Record<string, unknown> }> {
  const thrown: unknown = await work.then(
    () => assert.fail('it was answered'),
    (error: unknown) => error,
  );
  assert.ok(thrown instanceof RequestError, String(thrown));
  return { code: thrown.code, data: (thrown.data ?? {}) as Record<string, unknown> };
}

/** A real loopd in a home of its own, asked by lines of JSON without the SDK; in memoryd's place whatever a test wants. */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import type { SessionRecord } from '../../../shared/protocol/sessions.ts';
import { startDaemon, temporaryHome, type RunningDaemon } from '../../../shared/testing/start-daemon.ts';
import { RawClient, type RawMessage } from './channel-clients.ts';
import { FakeModel } from './fake-model.ts';
import type { FakeStep } from './fake-step.ts';

export class Box {
  readonly home: string;
  readonly memorySocket: string;
  readonly model: FakeModel;
  readonly #ends: (() => unknown)[] = [];
  #id = 0;

  private constructor(home: string, model: FakeModel) {
    this.home = home;
    this.model = model;
    this.memorySocket = join(home, 'run', 'loop-memory', 'memory.sock');
  }

  static async open(t: TestContext, ...steps: FakeStep[]): Promise<Box> {
    const { home, remove } = temporaryHome();
    const box = new Box(home, await FakeModel.start({ steps, slots: 2, contextTokens: 16_384 }));
    const model = `[model]\nurl = "${box.model.url}"\ntitles = false\n`;
    writeFileSync(join(home, 'loopd.toml'), `[memory]\nwait_ms = 1000\n${model}`);
    mkdirSync(dirname(box.memorySocket), { recursive: true, mode: 0o700 });
    t.after(async () => {
      for (const end of box.#ends.toReversed()) await end();
      await box.model.stop();
      remove();
    });
    return box;
  }

  async start(name: 'memoryd' | 'loopd'): Promise<RunningDaemon> {
    const daemon = await startDaemon(name, this.home);
    this.#ends.push(() => daemon.kill());
    return daemon;
  }

  async client(path = join(this.home, 'run', 'channel', 'loop.sock')): Promise<RawClient> {
    const socket = await new Promise<Socket>((resolve, reject) => {
      const opening = connect(path, () => resolve(opening));
      opening.once('error', reject);
    });
    this.#ends.push(() => socket.destroy());
    return new RawClient(socket);
  }

  async ask(client: RawClient, method: string, params: object = {}): Promise<RawMessage> {
    this.#id += 1;
    client.write({ id: this.#id, method, params });
    return client.reply(this.#id);
  }

  newSession(client: RawClient): Promise<RawMessage> {
    return this.ask(client, 'session/new', { cwd: '/', mcpServers: [] });
  }

  prompt(client: RawClient, sessionId: string, text: string): Promise<RawMessage> {
    return this.ask(client, 'session/prompt', { sessionId, prompt: [{ type: 'text', text }] });
  }

  /** Something that listens where memoryd should; `answer` gets the socket and what was asked. Returns what ends it. */
  async pretend(answer: (socket: Socket, asked: Asked) => void): Promise<() => Promise<void>> {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('data', (chunk: Buffer) => {
        for (const line of chunk.toString().split('\n').filter(Boolean))
          answer(socket, JSON.parse(line) as Asked);
      });
    });
    await new Promise<void>((resolve) => server.listen(this.memorySocket, resolve));
    const end = async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      rmSync(this.memorySocket, { force: true });
    };
    this.#ends.push(end);
    return end;
  }

  path(session: string): string {
    return join(this.home, 'sessions', `${session}.jsonl`);
  }

  records(session: string): SessionRecord[] {
    const lines = readFileSync(this.path(session), 'utf8').trimEnd().split('\n');
    return lines.map((line) => JSON.parse(line) as SessionRecord);
  }

  get logs(): string[] {
    return readdirSync(join(this.home, 'sessions')).filter((name) => name.includes('.jsonl'));
  }
}

export interface Asked {
  readonly id: number;
  readonly method: string;
  readonly params: Record<string, unknown>;
}

export const reply = (socket: Socket, { id }: Asked, body: object) =>
  void socket.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...body })}\n`);

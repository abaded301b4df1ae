/** Sessions on real files, run by the real loop against a model server: the fake one, or a real one by LLAMA_SERVER. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Baseline } from '../../../shared/protocol/sessions.ts';
import { OpenAiModel } from '../model/openai.ts';
import { Sessions } from '../session/sessions.ts';
import type { ModelRequest, TurnEvent } from '../turn/effects.ts';
import { runTurn, type TurnOptions } from '../turn/turn.ts';
import { FakeModel, type FakeModelOptions } from './fake-model.ts';

/** A real llama-server that the tests are to run against. */
const realServer = process.env['LLAMA_SERVER'];

export const serverBaseline: Baseline = {
  system: `You are a careful assistant. Use your tools. Be brief.\n\n${Array.from({ length: 40 }, (_, n) => `- Item ${n} is kept in drawer ${n % 9}.`).join('\n')}`,
  tools: ['clock', 'look', 'send'].map((name) => ({
    type: 'function',
    function: {
      name,
      description: `The tool ${name}.`,
      parameters: { type: 'object', properties: { query: { type: 'string' } } },
    },
  })),
  version: '0'.repeat(64),
  tokens: 1100,
};

export class ServerSessions {
  readonly fake: FakeModel | undefined;
  readonly requests: ModelRequest[] = [];
  readonly events: TurnEvent[] = [];
  readonly ran: string[] = [];
  readonly #folder: string;
  readonly #url: string;
  #sessions: Sessions;
  #model: OpenAiModel;

  private constructor(folder: string, fake: FakeModel | undefined) {
    this.#folder = folder;
    this.fake = fake;
    this.#url = fake?.url ?? realServer ?? '';
    this.#sessions = new Sessions(folder);
    this.#model = new OpenAiModel({ url: this.#url });
  }

  /** Against the fake server, whatever LLAMA_SERVER says, where a test needs its script. */
  static async start(options: FakeModelOptions & { mayBeReal?: boolean } = {}): Promise<ServerSessions> {
    const folder = await mkdtemp(join(tmpdir(), 'server-session-'));
    const isReal = options.mayBeReal === true && realServer !== undefined;
    return new ServerSessions(folder, isReal ? undefined : await FakeModel.start(options));
  }

  get model(): OpenAiModel {
    return this.#model;
  }

  /** As a restart of the daemon: nothing is left but the files; the server stays. */
  async restart(): Promise<void> {
    await this.#sessions.closeAll();
    this.#model.close();
    this.#sessions = new Sessions(this.#folder);
    this.#model = new OpenAiModel({ url: this.#url });
  }

  async stop(): Promise<void> {
    await this.#sessions.closeAll();
    this.#model.close();
    await this.fake?.stop();
    await rm(this.#folder, { recursive: true });
  }

  async session(id = 's1') {
    if (await this.#sessions.has(id)) return this.#sessions.open(id);
    return this.#sessions.create({ id, origin: 'person', model: 'test', baseline: serverBaseline });
  }

  async ask(
    text: string,
    { id = 's1', ...options }: { id?: string } & Partial<Omit<TurnOptions, 'effects'>> = {},
  ) {
    const session = await this.session(id);
    await session.accept({ text });
    return runTurn(session.history, {
      signal: AbortSignal.any([]),
      contextTokens: () => this.#model.contextTokens(),
      ...options,
      effects: {
        ask: (request, onDelta, signal) => {
          this.requests.push(request);
          return this.#model.ask(request, { session: id, onDelta, signal });
        },
        decide: async () => ({ verdict: 'allow', rule: 'test' }),
        prepare: async () => {},
        effectsOf: (name) =>
          serverBaseline.tools.some((tool) => tool.function.name === name)
            ? { effects: name === 'send' ? 'once' : 'none', isVolatile: name === 'clock' }
            : undefined,
        check: () => undefined,
        run: async (call) => {
          this.ran.push(call.name);
          return { status: 'ok', text: `${call.name} says ${'yes '.repeat(20)}` };
        },
        append: (body, sync) => session.append(body, sync),
        emit: (event) => void this.events.push(event),
        // Retries are to be seen, not waited for.
        sleep: (ms, signal) => wait(Math.min(ms, 5), undefined, { signal }).catch(() => undefined),
      },
    });
  }
}

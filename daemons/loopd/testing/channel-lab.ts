/** A whole channel on a real socket and a real folder, with a model and a memory that a test scripts. */
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { AppError } from '../../../shared/errors.ts';
import type { MemoryParams } from '../../../shared/protocol/memoryd.ts';
import type { MemoryReply, RecallReply } from '../../../shared/protocol/replies.ts';
import type { SessionRecord } from '../../../shared/protocol/sessions.ts';
import type { McpServerSetting } from '../../../shared/settings.ts';
import { Channel, type ChannelOptions } from '../channel/channel.ts';
import { ChannelServer } from '../channel/channel-server.ts';
import { Broker } from '../decide/broker.ts';
import { Policy } from '../decide/policy.ts';
import { MemoryLink, type MemoryCaller } from '../memory.ts';
import type { Model } from '../model/model.ts';
import { Sessions } from '../session/sessions.ts';
import { mcpTimesDefault } from '../tools/mcp-connection.ts';
import { McpServers } from '../tools/mcp.ts';
import type { ModelDelta, ModelReply, ModelRequest } from '../turn/effects.ts';
import { RawClient, TestClient } from './channel-clients.ts';

/** What the model does in one step. */
export type Step = (
  request: ModelRequest,
  onDelta: (delta: ModelDelta) => void,
  signal: AbortSignal,
) => Promise<ModelReply> | ModelReply;

export const say =
  (text: string): Step =>
  (_, onDelta) => {
    onDelta({ type: 'text', delta: text });
    return {
      text,
      reasoning: '',
      calls: [],
      finish: 'stop',
      usage: { prompt_tokens: 2000, completion_tokens: 5 },
    };
  };

export const callTool =
  (name: string, args: unknown): Step =>
  () => ({
    text: '',
    reasoning: '',
    calls: [{ name, arguments: JSON.stringify(args) }],
    finish: 'tool_calls',
    usage: {},
  });

/** Streams some text, then never ends unless it is cancelled. */
export const hang =
  (text = ''): Step =>
  (_, onDelta, signal) => {
    if (text !== '') onDelta({ type: 'text', delta: text });
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(new AppError('model-unavailable', 'cancelled')));
    });
  };

/** memoryd's four methods over a list of entries; a test breaks it by setting `fault`. */
class FakeMemory implements MemoryCaller {
  entries: string[] = [];
  readonly updated: string[] = [];
  readonly asked: { method: string; params: Record<string, unknown> }[] = [];
  fault: AppError | 'hangs' | undefined;
  #block: Promise<void> = Promise.resolve();
  #onAsked: () => void = () => {};

  /** The next blocks wait until the test lets them go. */
  holdBlock(): { asked: Promise<void>; release: () => void } {
    let release = () => {};
    this.#block = new Promise((resolve) => (release = resolve));
    const asked = new Promise<void>((resolve) => (this.#onAsked = resolve));
    return { asked, release };
  }

  call: MemoryCaller['call'] = async (method, params) => {
    this.asked.push({ method, params });
    if (this.fault === 'hangs') return new Promise(() => {});
    if (this.fault !== undefined) throw this.fault;
    if (method === 'block') {
      this.#onAsked();
      await this.#block;
    }
    return this.#answer(method, params) as never;
  };

  #answer(method: string, params: Record<string, unknown>): unknown {
    switch (method) {
      case 'block': {
        const text = this.entries.map((entry) => `- ${entry}`).join('\n');
        return { text, version: sha256(text), files: {}, tokens: text.length };
      }
      case 'memory':
        return this.#change(params);
      case 'recall':
        return noHits;
      default:
        this.updated.push(String(params['session']));
        return { session: params['session'], indexed: 1, behind: 0 };
    }
  }

  #change({ action, text = '' }: MemoryParams): MemoryReply {
    const changed = action === 'add' ? [{ before: null, after: text }] : [];
    if (action === 'add') this.entries.push(text);
    const version = sha256(this.entries.join('\n'));
    return { file: 'memory', version, entries: [...this.entries], used: 1, limit: 2200, changed };
  }
}

const noHits: RecallReply = {
  hits: [],
  tier: 'exact',
  filters: {},
  index: { state: 'ok', behind: 0 },
  forgotten: 0,
};

interface LabOptions {
  readonly steps?: Step[];
  readonly policy?: Record<string, string>;
  readonly broker?: string;
  readonly mcp?: Record<string, McpServerSetting>;
  readonly options?: Partial<ChannelOptions>;
  /** A folder of an earlier lab: the daemon starts again. */
  readonly home?: string;
  readonly limits?: Partial<ChannelOptions['limits']>;
  readonly blockTimeoutMs?: number;
  /** Hears of sessions that nobody uses any more. */
  readonly onRelease?: (session: string) => void;
}

const shippedSystem = new URL('../../../config/system.md', import.meta.url).pathname;
const blockTimeoutMsDefault = 50;
const labsByHome = new Map<string, Lab[]>();

export class Lab {
  readonly home: string;
  readonly sessions: Sessions;
  readonly memory = new FakeMemory();
  readonly link: MemoryLink;
  readonly requests: ModelRequest[] = [];
  readonly logged: { message: string; [field: string]: unknown }[] = [];
  readonly steps: Step[];
  readonly socketPath: string;
  channel!: Channel;
  server!: ChannelServer;

  private constructor(home: string, { steps = [], blockTimeoutMs = blockTimeoutMsDefault }: LabOptions) {
    this.home = home;
    this.steps = [...steps];
    this.socketPath = join(home, 'loop.sock');
    this.sessions = new Sessions(join(home, 'sessions'));
    this.link = new MemoryLink(this.memory, { blockTimeoutMs });
  }

  static async start(t: TestContext, options: LabOptions = {}): Promise<Lab> {
    const home = options.home ?? mkdtempSync(join(tmpdir(), 'channel-'));
    mkdirSync(join(home, 'sessions'), { recursive: true });
    const lab = new Lab(home, options);
    const policy = new Policy(options.policy ?? {});
    const broker =
      options.broker === undefined ? {} : { broker: new Broker({ socket: options.broker, timeoutMs: 500 }) };
    const log = (fields: object, message: string) => void lab.logged.push({ ...fields, message });
    lab.channel = await Channel.open({
      sessions: lab.sessions,
      memory: lab.link,
      model: lab.#model(options.onRelease),
      deciders: { policy: () => policy, ...broker },
      mcp: new McpServers(options.mcp ?? {}),
      mcpTimes: mcpTimesDefault,
      takesClientServers: false,
      systemPath: shippedSystem,
      fixedTokensMax: 3000,
      turnLimits: {},
      askWaitMs: 500,
      limits: {
        lineBytesMax: 8 * 1024 * 1024,
        depthMax: 64,
        inFlightMax: 64,
        unreadBytesMax: 16 * 1024 * 1024,
        ...options.limits,
      },
      log: { info: log, warn: log, error: log },
      ...options.options,
    });
    lab.server = await ChannelServer.listen(lab.channel, { path: lab.socketPath, connectionsMax: 16 });
    const labs = [...(labsByHome.get(home) ?? []), lab];
    labsByHome.set(home, labs);
    // Whoever made the folder removes it, after every lab in it has stopped.
    if (options.home === undefined) {
      t.after(async () => {
        for (const one of labsByHome.get(home) ?? []) await one.stop();
        labsByHome.delete(home);
        rmSync(home, { recursive: true, force: true });
      });
    }
    return lab;
  }

  #isStopped = false;
  async stop(): Promise<void> {
    if (this.#isStopped) return;
    this.#isStopped = true;
    await this.server.stop(0);
    await this.sessions.closeAll();
  }

  #model(onRelease: (session: string) => void = () => {}): Model {
    return {
      kind: 'openai',
      name: 'scripted',
      ask: async (request, { onDelta, signal }) => {
        this.requests.push(request);
        const step = this.steps.shift();
        if (step === undefined) throw new AppError('model-refused', 'the script has no more steps');
        return step(request, onDelta, signal);
      },
      contextTokens: () => undefined,
      aside: async () => undefined,
      health: async () => ({ state: 'ready', warnings: [] }),
      release: onRelease,
      close: () => {},
    };
  }

  records(session: string): SessionRecord[] {
    const text = readFileSync(join(this.home, 'sessions', `${session}.jsonl`), 'utf8');
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as SessionRecord);
  }

  /** The SDK's own client, connected and initialized. */
  async client(t: TestContext, onAsk?: (title: string) => string | undefined): Promise<TestClient> {
    const socket = await opened(this.socketPath);
    t.after(() => socket.destroy());
    return TestClient.over(socket, onAsk);
  }

  /** A client without the SDK: lines of JSON. */
  async raw(t: TestContext): Promise<RawClient> {
    const socket = await opened(this.socketPath);
    t.after(() => socket.destroy());
    return new RawClient(socket);
  }
}

function opened(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(path, () => resolve(socket));
    socket.once('error', reject);
  });
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

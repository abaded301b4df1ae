/** One MCP server: started when it is first needed, watched, and started again with growing pauses when it fails. */
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { McpServerSetting } from '../../../shared/settings.ts';
import { version } from '../../../shared/version.ts';
import { prepareJsonSchemas } from './json-schema.ts';
import { renderResult } from './mcp-result.ts';
import type { ToolOutcome } from './tool.ts';

/** A configured server; a client may give headers to one that it names. */
export type McpSetting = McpServerSetting & { readonly headers?: Readonly<Record<string, string>> };

/** A tool of a server, as the server describes it. */
export interface McpTool {
  readonly server: string;
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** The server says that calling it changes nothing. */
  readonly isReadOnly: boolean;
}

export interface McpState {
  readonly state: 'idle' | 'starting' | 'ready' | 'failed';
  readonly tools: number;
  readonly restarts: number;
  readonly failure?: string;
}

export interface McpTimes {
  readonly startMs: number;
  readonly callMs: number;
  /** The pause after a first failure; it doubles up to `pauseMaxMs`. */
  readonly pauseMs: number;
  readonly pauseMaxMs: number;
}

export const mcpTimesDefault: McpTimes = {
  startMs: 30_000,
  callMs: 60_000,
  pauseMs: 1_000,
  pauseMaxMs: 60_000,
};

const toolsMax = 1_000;
const pagesMax = 50;
const messageBytesMax = 16 * 1024 * 1024;
const stderrCharsMax = 1_000;

interface Running {
  readonly client: Client;
  tools: readonly McpTool[];
}

export class McpConnection {
  readonly name: string;
  readonly #setting: McpSetting;
  readonly #times: McpTimes;
  #running: Running | undefined;
  #starting: Promise<Running> | undefined;
  #failure: string | undefined;
  #failuresInRow = 0;
  #notBeforeMs = 0;
  #starts = 0;
  #isStopped = false;

  constructor(name: string, setting: McpSetting, times: McpTimes) {
    this.name = name;
    this.#setting = setting;
    this.#times = times;
  }

  get state(): McpState {
    const state =
      this.#running !== undefined
        ? 'ready'
        : this.#starting !== undefined
          ? 'starting'
          : this.#failure !== undefined
            ? 'failed'
            : 'idle';
    return {
      state,
      tools: this.#running?.tools.length ?? 0,
      restarts: Math.max(0, this.#starts - 1),
      ...(this.#failure === undefined ? {} : { failure: this.#failure }),
    };
  }

  /** What is known without waiting. */
  get knownTools(): readonly McpTool[] {
    return this.#running?.tools ?? [];
  }

  /** Rejects with a sentence while the server cannot be used. */
  async tools(): Promise<readonly McpTool[]> {
    return (await this.#ready()).tools;
  }

  /** Never rejects: whatever goes wrong is an outcome that the model can read. */
  async call(tool: string, args: Record<string, unknown>, signal: AbortSignal): Promise<ToolOutcome> {
    let running: Running;
    try {
      running = await this.#ready();
    } catch (thrown) {
      return { status: 'error', text: `${this.name} cannot be used: ${messageOf(thrown)}` };
    }
    try {
      const options = { signal, timeout: this.#times.callMs };
      const result = await running.client.callTool({ name: tool, arguments: args }, undefined, options);
      return renderResult(result);
    } catch (thrown) {
      if (!isProtocolError(thrown) && !signal.aborted) this.#drop(running);
      return { status: 'error', text: `${this.name}/${tool} failed: ${messageOf(thrown)}` };
    }
  }

  /** A connection that broke under a request (an HTTP server that went away tells in no other way). */
  #drop(running: Running): void {
    if (this.#running !== running) return;
    this.#running = undefined;
    void running.client.close().catch(() => {});
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    const running = this.#running ?? (await this.#starting?.catch(() => undefined));
    this.#running = undefined;
    await running?.client.close().catch(() => {});
  }

  async #ready(): Promise<Running> {
    if (this.#isStopped) throw new Error('loopd is stopping');
    if (this.#running !== undefined) return this.#running;
    if (this.#starting !== undefined) return this.#starting;
    const waitMs = this.#notBeforeMs - Date.now();
    if (waitMs > 0)
      throw new Error(
        `${this.#failure} (it is started again in ${Math.ceil(waitMs / 1000)} s at the earliest)`,
      );
    this.#starting = this.#start();
    try {
      return await this.#starting;
    } finally {
      this.#starting = undefined;
    }
  }

  async #start(): Promise<Running> {
    this.#starts += 1;
    let stderr: () => string = () => '';
    let client: Client | undefined;
    try {
      // Loaded when a server is first needed: most devices have none, and it costs tens of megabytes.
      const sdk = await import('@modelcontextprotocol/sdk/client/index.js');
      await prepareJsonSchemas();
      client = new sdk.Client({ name: 'loopd', version });
      const transport = await this.#transport((read) => (stderr = read));
      const options = { timeout: this.#times.startMs };
      await client.connect(transport, options);
      const running: Running = { client, tools: await this.#list(client) };
      this.#watch(running);
      return running;
    } catch (thrown) {
      await client?.close().catch(() => {});
      this.#fail(`${messageOf(thrown)}${stderr()}`);
      throw new Error(this.#failure, { cause: thrown });
    }
  }

  async #transport(onStderr: (read: () => string) => void): Promise<Transport> {
    const { url, headers = {}, command, args = [], env = {}, cwd } = this.#setting;
    if (url !== undefined) {
      const { StreamableHTTPClientTransport } =
        await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
      return new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
    }
    const { StdioClientTransport, getDefaultEnvironment } =
      await import('@modelcontextprotocol/sdk/client/stdio.js');
    const transport = new StdioClientTransport({
      command: command ?? '',
      args: [...args],
      env: { ...getDefaultEnvironment(), ...env },
      stderr: 'pipe',
      maxBufferSize: messageBytesMax,
      ...(cwd === undefined ? {} : { cwd }),
    });
    let tail = '';
    transport.stderr?.on(
      'data',
      (chunk: Buffer) => (tail = (tail + chunk.toString('utf8')).slice(-stderrCharsMax)),
    );
    onStderr(() => (tail.trim() === '' ? '' : `; it wrote: ${tail.trim().toWellFormed()}`));
    return transport;
  }

  #watch(running: Running): void {
    this.#running = running;
    this.#failure = undefined;
    this.#failuresInRow = 0;
    // The SDK's clients are no event targets.
    // oxlint-disable-next-line unicorn/prefer-add-event-listener
    running.client.onclose = () => {
      if (this.#running !== running) return;
      this.#running = undefined;
      if (!this.#isStopped) this.#fail('the server ended');
    };
    running.client.fallbackNotificationHandler = async ({ method }) => {
      if (method !== 'notifications/tools/list_changed') return;
      running.tools = await this.#list(running.client).catch(() => running.tools);
    };
  }

  async #list(client: Client): Promise<McpTool[]> {
    const tools: McpTool[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < pagesMax; page += 1) {
      const reply = await client.listTools(cursor === undefined ? {} : { cursor }, {
        timeout: this.#times.startMs,
      });
      for (const { name, description = '', inputSchema, annotations } of reply.tools) {
        if (tools.length >= toolsMax) return tools;
        const isReadOnly = annotations?.readOnlyHint === true;
        tools.push({ server: this.name, name, description, inputSchema, isReadOnly });
      }
      cursor = reply.nextCursor;
      if (cursor === undefined) return tools;
    }
    return tools;
  }

  #fail(reason: string): void {
    this.#failure = reason;
    const pauseMs = this.#times.pauseMs * 2 ** Math.min(this.#failuresInRow, 16);
    this.#failuresInRow += 1;
    this.#notBeforeMs = Date.now() + Math.min(pauseMs, this.#times.pauseMaxMs);
  }
}

/** An error that the server answered with, or that the SDK made of its answer or of a time that was over. */
function isProtocolError(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.name === 'McpError';
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** Which tools a session has: the same for all, and for some those of servers that their client named. */
import type { McpServer } from '@agentclientprotocol/sdk';
import type { McpTimes } from '../tools/mcp-connection.ts';
import { McpServers } from '../tools/mcp.ts';
import { ToolSet, type ToolDependencies } from '../tools/tool-set.ts';
import { clientMcpServers } from './client-mcp.ts';

interface SessionToolsOptions extends Omit<ToolDependencies, 'mcp'> {
  readonly mcp: McpServers;
  readonly mcpTimes: Partial<McpTimes>;
  /** Use servers that a client names. */
  readonly takesClientServers: boolean;
}

export class SessionTools {
  readonly #options: SessionToolsOptions;
  readonly #common: ToolSet;
  readonly #own = new Map<string, { tools: ToolSet; servers: McpServers }>();

  constructor(options: SessionToolsOptions) {
    this.#options = options;
    this.#common = new ToolSet({ ...options, mcp: [options.mcp] });
  }

  get takesClientServers(): boolean {
    return this.#options.takesClientServers;
  }

  /** The core tools, as every baseline holds them. */
  get definitions(): ToolSet['definitions'] {
    return this.#common.definitions;
  }

  of(session: string): ToolSet {
    return this.#own.get(session)?.tools ?? this.#common;
  }

  /** Takes the servers that a client names, or says which it does not; the newest list counts. */
  async take(session: string, named: readonly McpServer[]): Promise<{ mcp_servers_ignored?: string[] }> {
    if (named.length === 0) return {};
    if (!this.#options.takesClientServers) return { mcp_servers_ignored: named.map(({ name }) => name) };
    await this.drop(session);
    const { mcp, mcpTimes } = this.#options;
    const { servers, ignored } = clientMcpServers(named, mcp.names, mcpTimes);
    this.#own.set(session, { servers, tools: new ToolSet({ ...this.#options, mcp: [mcp, servers] }) });
    return ignored.length === 0 ? {} : { mcp_servers_ignored: ignored };
  }

  /** The session is no longer in use. */
  async drop(session: string): Promise<void> {
    const own = this.#own.get(session);
    this.#own.delete(session);
    await own?.servers.stop();
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#own.keys()].map((session) => this.drop(session)));
    await this.#options.mcp.stop();
  }
}

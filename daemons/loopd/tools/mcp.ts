/** The MCP servers of the configuration, or those that a client named, and the catalogue of their tools. */
import { AppError } from '../../../shared/errors.ts';
import {
  McpConnection,
  mcpTimesDefault,
  type McpSetting,
  type McpState,
  type McpTimes,
  type McpTool,
} from './mcp-connection.ts';
import type { ToolOutcome } from './tool.ts';

export interface Catalogue {
  readonly tools: readonly McpTool[];
  /** Servers that cannot be used now, with the reason. */
  readonly failed: readonly { server: string; reason: string }[];
}

const serversMax = 100;
const serverName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export class McpServers {
  readonly #connections: ReadonlyMap<string, McpConnection>;

  /** @throws AppError config-invalid */
  constructor(servers: Readonly<Record<string, McpSetting>>, times: Partial<McpTimes> = {}) {
    const entries = Object.entries(servers);
    if (entries.length > serversMax) throw invalid(`${entries.length} MCP servers, over ${serversMax}`);
    for (const [name, setting] of entries) checkServer(name, setting);
    const allTimes = { ...mcpTimesDefault, ...times };
    this.#connections = new Map(
      entries.map(([name, setting]) => [name, new McpConnection(name, setting, allTimes)]),
    );
  }

  get names(): string[] {
    return [...this.#connections.keys()];
  }

  get states(): Record<string, McpState> {
    return Object.fromEntries([...this.#connections].map(([name, { state }]) => [name, state]));
  }

  /** What is known without starting a server. */
  get knownTools(): McpTool[] {
    return [...this.#connections.values()].flatMap(({ knownTools }) => knownTools);
  }

  /** Starts what does not run yet; a server that fails does not hide the others. */
  async catalogue(): Promise<Catalogue> {
    const tools: McpTool[] = [];
    const failed: { server: string; reason: string }[] = [];
    await Promise.all(
      [...this.#connections.values()].map(async (connection) => {
        try {
          tools.push(...(await connection.tools()));
        } catch (thrown) {
          failed.push({
            server: connection.name,
            reason: thrown instanceof Error ? thrown.message : String(thrown),
          });
        }
      }),
    );
    const order = this.names;
    tools.sort((a, b) => order.indexOf(a.server) - order.indexOf(b.server));
    return { tools, failed };
  }

  /** Never rejects: a server that fails says so where it is called. */
  async start(server: string): Promise<void> {
    await this.#connections
      .get(server)
      ?.tools()
      .catch(() => undefined);
  }

  call({ server, name }: McpTool, args: Record<string, unknown>, signal: AbortSignal): Promise<ToolOutcome> {
    const connection = this.#connections.get(server);
    if (connection === undefined) {
      return Promise.resolve({ status: 'error', text: `There is no server ${server} any more.` });
    }
    return connection.call(name, args, signal);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#connections.values()].map((connection) => connection.stop()));
  }
}

function checkServer(name: string, { command, url }: McpSetting): void {
  if (!serverName.test(name)) {
    throw invalid(`mcp.servers.${name}: a name is letters, digits, dot, dash and underscore, up to 64`);
  }
  if ((command === undefined) === (url === undefined)) {
    throw invalid(`mcp.servers.${name} needs either command or url`);
  }
  if (url !== undefined && !(URL.canParse(url) && /^https?:$/.test(new URL(url).protocol))) {
    throw invalid(`mcp.servers.${name}.url is not an http address: ${url}`);
  }
}

function invalid(message: string): AppError {
  return new AppError('config-invalid', message);
}

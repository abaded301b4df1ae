/** The tools beyond the core that one session may call: of the configured servers and of those its client named. */
import type { McpServers, Catalogue } from './mcp.ts';
import type { McpTool } from './mcp-connection.ts';
import { compileJsonSchema, type JsonCheck } from './json-schema.ts';
import { nearestNames } from './ranking.ts';
import { parameterNames } from './signature.ts';
import type { ToolOutcome } from './tool.ts';

export function fullName({ server, name }: McpTool): string {
  return `${server}/${name}`;
}

function serverOf(name: string): string {
  return name.slice(0, Math.max(0, name.indexOf('/')));
}

const nearestMax = 3;

export class ToolCatalogue {
  readonly #sources: readonly McpServers[];
  /** Compiled at a tool's first call; an entry goes with its tool. */
  readonly #checks = new WeakMap<McpTool, JsonCheck>();

  constructor(sources: readonly McpServers[]) {
    this.#sources = sources;
  }

  get serverNames(): string[] {
    return this.#sources.flatMap(({ names }) => names);
  }

  async load(): Promise<Catalogue> {
    const all = await Promise.all(this.#sources.map((source) => source.catalogue()));
    return { tools: all.flatMap(({ tools }) => tools), failed: all.flatMap(({ failed }) => failed) };
  }

  hasServerOf(tool: string): boolean {
    return this.serverNames.includes(serverOf(tool));
  }

  /** Starts the server of a tool, if it does not run; what goes wrong is told by whoever calls the tool. */
  async start(tool: string): Promise<void> {
    const server = serverOf(tool);
    await this.#sources.find(({ names }) => names.includes(server))?.start(server);
  }

  /**
   * The tool of a full name, among those known without waiting. A bare name finds none: what was decided on must be
   * what runs, also when a server starts or ends in between.
   */
  find(name: string): McpTool | undefined {
    return this.#known().find((tool) => fullName(tool) === name);
  }

  parametersOf(name: string): readonly string[] | undefined {
    const tool = this.find(name);
    return tool === undefined ? undefined : parameterNames(tool.inputSchema);
  }

  /** What is wrong with arguments, as a sentence; undefined where they will do. */
  check(tool: McpTool, args: Record<string, unknown>): string | undefined {
    let check = this.#checks.get(tool);
    if (check === undefined) {
      check = compileJsonSchema(tool.inputSchema);
      this.#checks.set(tool, check);
    }
    const fault = check(args);
    return fault === undefined ? undefined : `${fullName(tool)}: ${fault}`;
  }

  call(tool: McpTool, args: Record<string, unknown>, signal: AbortSignal): Promise<ToolOutcome> {
    const source = this.#sources.find(({ names }) => names.includes(tool.server));
    if (source === undefined)
      return Promise.resolve({ status: 'error', text: `There is no server ${tool.server}.` });
    return source.call(tool, args, signal);
  }

  /** For a sentence about a name that does not exist. */
  nearest(name: string): string[] {
    return nearestNames(name, this.#known().map(fullName), nearestMax);
  }

  #known(): McpTool[] {
    return this.#sources.flatMap(({ knownTools }) => knownTools);
  }
}

/** The tools of one session, as its turns see them: definitions, effects, checks, and running within time limits. */
import { toAppError } from '../../../shared/errors.ts';
import type { ToolCall, ToolDefinition } from '../../../shared/protocol/sessions.ts';
import type { MemoryLink } from '../memory.ts';
import { callTool, type CallTarget, type CallTool } from './call-tool.ts';
import { ToolCatalogue } from './catalogue.ts';
import { clockTool, type ClockOptions } from './clock.ts';
import { findTool } from './find-tool.ts';
import type { McpServers } from './mcp.ts';
import { memoryTool } from './memory.ts';
import { nearestNames } from './ranking.ts';
import { recallTool } from './recall.ts';
import type { Tool, ToolContext, ToolEffects, ToolOutcome } from './tool.ts';

export interface ToolDependencies {
  readonly memory: Pick<MemoryLink, 'memory' | 'recall'>;
  readonly clock: ClockOptions;
  /** The configured servers, then those that the session's client named, if that is allowed. */
  readonly mcp: readonly McpServers[];
  /** How long one call of an MCP tool may take. */
  readonly callMs: number;
}

type Arguments = Record<string, unknown>;

const nearestMax = 3;

export class ToolSet {
  readonly #tools: readonly Tool[];
  readonly #catalogue: ToolCatalogue;
  readonly #callTool: CallTool;

  constructor({ memory, clock, mcp, callMs }: ToolDependencies) {
    this.#catalogue = new ToolCatalogue(mcp);
    const names = () => this.#tools.map(({ definition }) => definition.function.name);
    this.#callTool = callTool(this.#catalogue, { coreNames: names, callMs });
    const find = findTool(this.#catalogue, () => this.definitions);
    // The order is part of the baseline.
    this.#tools = [clockTool(clock), recallTool(memory), memoryTool(memory), find, this.#callTool];
  }

  get definitions(): ToolDefinition[] {
    return this.#tools.map(({ definition }) => definition);
  }

  effectsOf(name: string, args: Arguments): { effects: ToolEffects; isVolatile: boolean } | undefined {
    const tool = this.#tool(name);
    if (tool === undefined) return undefined;
    const effects = tool === this.#callTool ? this.#callTool.effectsFor(args) : tool.effects;
    return { effects, isVolatile: tool.isVolatile ?? false };
  }

  /** Makes the effects and the schema of what is called known, where its server has to be started for it. */
  async prepare({ name, arguments: args }: ToolCall): Promise<void> {
    if (this.#tool(name) === this.#callTool && typeof args !== 'string') await this.#callTool.prepare(args);
  }

  /** What is wrong with a call, as a sentence for the model; undefined where it may be decided on. */
  check(name: string, args: Arguments): string | undefined {
    const tool = this.#tool(name);
    return tool === undefined ? this.#unknownText(name) : tool.check?.(args);
  }

  /** What a call runs, by the name that policy and broker know it by. */
  targetOf({ name, arguments: args }: ToolCall): CallTarget {
    const given = typeof args === 'string' ? {} : args;
    const inner =
      name === this.#callTool.definition.function.name ? this.#callTool.targetOf(given) : undefined;
    return inner ?? { name, isCore: true, arguments: given };
  }

  /** Never rejects; what takes longer than the tool's limit is told to stop and is an error. */
  async run({ name, arguments: args }: ToolCall, context: ToolContext): Promise<ToolOutcome> {
    const tool = this.#tool(name);
    if (tool === undefined) return { status: 'error', text: this.#unknownText(name) };
    if (typeof args === 'string')
      return { status: 'error', text: `The arguments of ${name} are not a JSON object.` };
    const late = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const isLate = new Promise<ToolOutcome>((resolve) => {
      timer = setTimeout(() => {
        late.abort();
        resolve({ status: 'error', text: `${name} took longer than ${tool.timeoutMs} ms and was stopped.` });
      }, tool.timeoutMs);
    });
    try {
      const signal = AbortSignal.any([context.signal, late.signal]);
      return await Promise.race([tool.run(args, { ...context, signal }), isLate]);
    } catch (thrown) {
      return { status: 'error', text: `${name} failed: ${toAppError(thrown).message}` };
    } finally {
      clearTimeout(timer);
    }
  }

  #tool(name: string): Tool | undefined {
    return this.#tools.find(({ definition }) => definition.function.name === name);
  }

  #unknownText(name: string): string {
    if (this.#catalogue.find(name) !== undefined) {
      return `${name} is not called directly: use call_tool with name "${name}" and its arguments.`;
    }
    const own = this.#tools.map(({ definition }) => definition.function.name);
    const [near] = [...this.#catalogue.nearest(name), ...nearestNames(name, own, nearestMax)];
    if (near !== undefined && !own.includes(near)) {
      return `There is no tool ${name} to call directly. Use call_tool with name "${near}", if that is meant.`;
    }
    const hint = near === undefined ? '' : ` Did you mean ${near}?`;
    return `There is no tool ${name}.${hint} Your tools are ${own.join(', ')}; find_tool searches for more.`;
  }
}

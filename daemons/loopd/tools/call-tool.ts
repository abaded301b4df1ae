/** call_tool: runs one tool of the catalogue with the arguments that the model meant. */
import { anyObject, object, text } from '../../../shared/schema.ts';
import { innerCall } from './call-arguments.ts';
import type { ToolCatalogue } from './catalogue.ts';
import type { McpTool } from './mcp-connection.ts';
import type { Tool, ToolEffects, ToolOutcome } from './tool.ts';

const parameters = object({
  name: { ...text(), description: 'The tool as find_tool shows it: server/tool.' },
  arguments: { ...anyObject(), description: 'Its arguments.' },
});

/** The server keeps its own limit for a call, which is the shorter one; this one holds where it does not. */
const graceMs = 5_000;

/** What a call would run, by the name that it is decided on. */
export interface CallTarget {
  /** `recall`, or `server/tool` for a tool of an MCP server. */
  readonly name: string;
  readonly isCore: boolean;
  readonly arguments: Record<string, unknown>;
}

export interface CallTool extends Tool {
  /** undefined where the arguments hold no call. */
  targetOf(args: Record<string, unknown>): CallTarget | undefined;
  effectsFor(args: Record<string, unknown>): ToolEffects;
  /** Starts the server of the tool that is called, where it does not run yet: then its effects and its schema are known. */
  prepare(args: Record<string, unknown>): Promise<void>;
}

interface Inner extends CallTarget {
  readonly tool: McpTool | undefined;
}

export function callTool(
  catalogue: ToolCatalogue,
  { coreNames, callMs }: { coreNames: () => readonly string[]; callMs: number },
): CallTool {
  // What was decided on is what runs, also where the tool's parameters are known only after its server has started.
  const understood = new WeakMap<object, ReturnType<typeof innerCall>>();
  const innerOf = (outer: Record<string, unknown>): Inner | string => {
    const call = understood.get(outer) ?? innerCall(outer, (name) => catalogue.parametersOf(name));
    understood.set(outer, call);
    if (typeof call === 'string') return call;
    const { name, args } = call;
    if (coreNames().includes(name))
      return `${name} is one of your own tools: call it directly, not with call_tool.`;
    return { name, isCore: false, arguments: args, tool: catalogue.find(name) };
  };
  const targetOf = (outer: Record<string, unknown>) => {
    const inner = innerOf(outer);
    return typeof inner === 'string' ? undefined : inner;
  };
  return {
    definition: {
      type: 'function',
      function: {
        name: 'call_tool',
        description: 'Run a tool that find_tool found, with its arguments as an object.',
        parameters,
      },
    },
    effects: 'once',
    timeoutMs: callMs + graceMs,
    targetOf,
    effectsFor: (outer) => (targetOf(outer)?.tool?.isReadOnly === true ? 'none' : 'once'),
    prepare: async (outer) => {
      const inner = innerOf(outer);
      if (typeof inner !== 'string' && inner.tool === undefined) await catalogue.start(inner.name);
    },
    check: (outer) => {
      const inner = innerOf(outer);
      if (typeof inner === 'string') return inner;
      if (inner.tool !== undefined) return catalogue.check(inner.tool, inner.arguments);
      // A tool that is not known by now may be once its server runs; one of no server will never be.
      return catalogue.hasServerOf(inner.name)
        ? undefined
        : unknownText(inner.name, catalogue.nearest(inner.name));
    },
    run: (outer, { signal }) => run(innerOf(outer), catalogue, signal),
  };
}

async function run(
  inner: Inner | string,
  catalogue: ToolCatalogue,
  signal: AbortSignal,
): Promise<ToolOutcome> {
  if (typeof inner === 'string') return failed(inner);
  const { name, arguments: args } = inner;
  let { tool } = inner;
  if (tool === undefined) {
    const { failed: down } = await catalogue.load();
    const server = down.find((one) => name.startsWith(`${one.server}/`));
    if (server !== undefined) return failed(`${server.server} cannot be used now: ${server.reason}`);
    tool = catalogue.find(name);
  }
  if (tool === undefined) return failed(unknownText(name, catalogue.nearest(name)));
  const fault = catalogue.check(tool, args);
  return fault === undefined ? catalogue.call(tool, args, signal) : failed(fault);
}

function unknownText(name: string, nearest: readonly string[]): string {
  const hint =
    nearest.length === 0 ? 'Search with find_tool first.' : `Did you mean ${nearest.join(' or ')}?`;
  return `There is no tool ${name}. ${hint}`;
}

function failed(text: string): ToolOutcome {
  return { status: 'error', text };
}

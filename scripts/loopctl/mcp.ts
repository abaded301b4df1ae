/** loopctl mcp: memoryd as an MCP server on standard input and output. */
import type { Readable, Writable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import {
  CallToolRequestSchema,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
  type CallToolResult,
  type Tool,
} from '@modelcontextprotocol/sdk/types.js';
import { toAppError } from '../../shared/errors.ts';
import { ParamsError } from '../../shared/params-error.ts';
import { checkOf } from '../../shared/schema-check.ts';
import { version } from '../../shared/version.ts';
import { mcpTools, type McpTool, type Memoryd } from './mcp-tools.ts';

interface Streams {
  readonly input: Readable;
  readonly output: Writable;
}

/** A note of 1 MiB, with each of its characters escaped, and its frame. */
const messageBytesMax = 8 * 1024 * 1024;

/** Serves until standard input ends and what was asked before is answered. */
export async function serveMcp(
  memoryd: Memoryd,
  { input, output }: Streams = { input: process.stdin, output: process.stdout },
): Promise<void> {
  const running = new Set<Promise<unknown>>();
  const server = mcpServer({
    call: async (method, params) => {
      const call = memoryd.call(method, params);
      const over = call.then(nothing, nothing);
      running.add(over);
      void over.then(() => running.delete(over));
      return await call;
    },
  });
  const ended = new Promise<void>((resolve) => {
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the server is no event target
    server.onclose = resolve;
    input.once('end', resolve);
    input.once('close', resolve);
    output.once('error', () => resolve());
  });
  await server.connect(new StdioServerTransport(input, output, { maxBufferSize: messageBytesMax }));
  await ended;
  // What was read last is asked in the turn after it was read, and answered in one after its reply came.
  await nextTurn();
  while (running.size > 0) await Promise.all(running);
  await nextTurn();
  await server.close();
}

export function mcpServer(memoryd: Memoryd): Server {
  const server = new Server(
    { name: 'loopkeep', version },
    {
      capabilities: { tools: {} },
      instructions:
        'The memory of an agent on this device: past sessions and runs by recall, two curated files by memory, and the records of loop runs.',
    },
  );
  const byName = new Map(
    mcpTools.map((tool) => [tool.name, { tool, check: checkOf(tool.accepts ?? tool.takes) }]),
  );
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: mcpTools.map(described) }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params: { name, arguments: args = {} } }) => {
    const known = byName.get(name);
    if (known === undefined)
      throw new McpError(ErrorCode.InvalidParams, `no such tool: ${name.slice(0, 100)}`);
    const fault = known.check(args);
    if (fault !== undefined) return failed(new ParamsError(fault.field, `${fault.field} ${fault.message}`));
    try {
      return textResult(JSON.stringify(await known.tool.run(memoryd, args)));
    } catch (thrown) {
      return failed(thrown);
    }
  });
  return server;
}

function described({ name, description, takes, isReadOnly, isIdempotent }: McpTool): Tool {
  return {
    name,
    description,
    inputSchema: takes as unknown as Tool['inputSchema'],
    annotations: {
      readOnlyHint: isReadOnly,
      destructiveHint: false,
      idempotentHint: isIdempotent,
      openWorldHint: false,
    },
  };
}

function textResult(text: string): CallToolResult {
  return { content: [{ type: 'text', text }] };
}

/** The code and the sentence; then what a program or a model needs to do it right, such as the entries of a full file. */
function failed(thrown: unknown): CallToolResult {
  if (thrown instanceof ParamsError)
    return { ...textResult(`invalid-params: ${thrown.message}`), isError: true };
  const { code, message, details } = toAppError(thrown);
  const more = Object.keys(details).length === 0 ? '' : `\n${JSON.stringify(details)}`;
  return { ...textResult(`${code}: ${message}${more}`), isError: true };
}

function nothing(): void {}

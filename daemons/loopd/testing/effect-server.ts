/**
 * An MCP server over HTTP whose tools do something that can be counted: `look` reads, `send` has an effect that nobody
 * can take back. Each adds a line to a log, between two short pauses. Usage: effect-server.ts '{"log": "/path", "pauseMsMax": 4}'
 */
import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const { log, pauseMsMax = 4 } = JSON.parse(process.argv[2] ?? '{}') as { log: string; pauseMsMax?: number };
const pause = () => wait(Math.random() * pauseMsMax);

const inputSchema = { type: 'object' as const, properties: { id: { type: 'string' } }, required: ['id'] };
const tools = [
  { name: 'look', description: 'Looks something up.', inputSchema, annotations: { readOnlyHint: true } },
  { name: 'send', description: 'Sends something off.', inputSchema, annotations: { readOnlyHint: false } },
];

function createEffects(): Server {
  const server = new Server({ name: 'effects', version: '1' }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params: { name, arguments: args } }) => {
    await pause();
    appendFileSync(log, `${name} ${String(args?.['id'])}\n`);
    await pause();
    return { content: [{ type: 'text', text: `${name} done` }] };
  });
  return server;
}

const http = createServer((request, response) => {
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
  const server = createEffects();
  response.once('close', () => void server.close());
  void server.connect(transport).then(() => transport.handleRequest(request, response));
});
http.listen(0, '127.0.0.1', () => {
  const { port } = http.address() as AddressInfo;
  process.stdout.write(`${JSON.stringify({ msg: 'ready', url: `http://127.0.0.1:${port}/mcp` })}\n`);
});
process.once('SIGTERM', () => process.exit(0));

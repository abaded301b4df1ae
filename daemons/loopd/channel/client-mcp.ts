/** MCP servers that a client names when it opens a session: used only where the configuration allows it. */
import type { McpServer } from '@agentclientprotocol/sdk';
import type { McpServerSetting } from '../../../shared/settings.ts';
import { McpServers } from '../tools/mcp.ts';
import type { McpSetting, McpTimes } from '../tools/mcp-connection.ts';

/** The servers under names that meet none of the configured ones; `sse` is not spoken. */
export function clientMcpServers(
  named: readonly McpServer[],
  configured: readonly string[],
  times: Partial<McpTimes>,
): { servers: McpServers; ignored: string[] } {
  const settings: Record<string, McpSetting> = {};
  const ignored: string[] = [];
  for (const server of named) {
    const setting = settingOf(server);
    if (setting === undefined) ignored.push(server.name);
    else settings[freeName(server.name, [...configured, ...Object.keys(settings)])] = setting;
  }
  return { servers: new McpServers(settings, times), ignored };
}

function settingOf(server: McpServer): McpSetting | undefined {
  if ('type' in server) {
    if (server.type !== 'http') return undefined;
    return {
      url: server.url,
      headers: Object.fromEntries(server.headers.map(({ name, value }) => [name, value])),
    };
  }
  const setting: McpServerSetting = {
    command: server.command,
    args: server.args,
    env: Object.fromEntries(server.env.map(({ name, value }) => [name, value])),
  };
  return setting;
}

const nameCharsMax = 50;

function freeName(name: string, taken: readonly string[]): string {
  const plain =
    name
      .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
      .replace(/^[^A-Za-z0-9]+/, '')
      .slice(0, nameCharsMax) || 'client';
  let free = plain;
  for (let count = 2; taken.includes(free); count += 1) free = `${plain}-${count}`;
  return free;
}

/** The parts behind loopd's channel, made from its settings. */
import { assetPath } from '../../shared/assets.ts';
import type { Client } from '../../shared/client.ts';
import type { Home } from '../../shared/home.ts';
import type { Log } from '../../shared/log.ts';
import type { MemorydProtocol } from '../../shared/protocol/memoryd.ts';
import type { LoopdSettings } from '../../shared/settings.ts';
import { Channel } from './channel/channel.ts';
import { Broker } from './decide/broker.ts';
import type { Deciders } from './decide/decider.ts';
import { Policy } from './decide/policy.ts';
import { MemoryLink } from './memory.ts';
import { openModel } from './model/open-model.ts';
import { titleOf } from './model/titles.ts';
import { Sessions } from './session/sessions.ts';
import { mcpTimesDefault } from './tools/mcp-connection.ts';
import { McpServers } from './tools/mcp.ts';

interface PartsOptions {
  readonly home: Home;
  readonly settings: LoopdSettings;
  readonly log: Log;
  readonly client: Client<MemorydProtocol>;
}

export interface ChannelParts {
  readonly channel: Channel;
  reload(settings: LoopdSettings): void;
  stop(): Promise<void>;
}

/** @throws AppError config-invalid */
export async function openChannelParts({ home, settings, log, client }: PartsOptions): Promise<ChannelParts> {
  const { memory, model: modelSettings, limits, mcp: mcpSettings } = settings;
  let policy = new Policy(settings.policy['*']);
  const deciders: Deciders = {
    policy: () => policy,
    ...(settings.broker.socket === ''
      ? {}
      : { broker: new Broker({ socket: settings.broker.socket, timeoutMs: settings.broker.wait_ms }) }),
  };
  const sessions = new Sessions(home.sessions, { mode: Number.parseInt(settings.access.log_mode, 8) });
  await sessions.sweep();
  const model = openModel(modelSettings);
  const mcpTimes = { ...mcpTimesDefault, callMs: mcpSettings.call_ms };
  const mcp = new McpServers(mcpSettings.servers, mcpTimes);
  const channel = await Channel.open({
    sessions,
    memory: new MemoryLink(client, {
      blockTimeoutMs: memory.wait_ms,
      onLost: (session, { code, message }) => log.warn({ session, code }, `memoryd was not told: ${message}`),
    }),
    model,
    ...(modelSettings.titles ? { title: (first, signal) => titleOf(model, first, signal) } : {}),
    deciders,
    mcp,
    mcpTimes,
    takesClientServers: mcpSettings.allow_client_servers,
    systemPath: settings.baseline.system || assetPath('config/system.md'),
    fixedTokensMax: settings.baseline.tokens_max,
    turnLimits: {
      stepsMax: modelSettings.steps_max,
      maxTokens: modelSettings.max_tokens,
      loadingMsMax: modelSettings.loading_ms,
      turnMsMax: modelSettings.turn_ms,
    },
    askWaitMs: settings.ask.wait_ms,
    limits: {
      lineBytesMax: limits.line_bytes_max,
      depthMax: limits.depth_max,
      inFlightMax: limits.in_flight_max,
      unreadBytesMax: limits.unread_bytes_max,
    },
    log,
  });
  return {
    channel,
    reload: (fresh) => {
      policy = new Policy(fresh.policy['*']);
    },
    stop: async () => {
      model.close();
      await mcp.stop();
    },
  };
}

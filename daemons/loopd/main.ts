/**
 * loopd: runs an agent's turns against a local model. Usage: loopd serve --home DIR
 *
 *   run/channel/loop.sock   the Agent Client Protocol, version 1
 *   sessions/<id>.jsonl     session logs, written by loopd alone
 *
 * It asks memoryd for a new session's block, and for nothing that a session in progress cannot do without.
 * SIGTERM and SIGINT stop it with status 0; SIGHUP reads the policy again. 75: another loopd holds the sessions.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '../../shared/client.ts';
import { runDaemon } from '../../shared/daemon.ts';
import { inheritedSockets } from '../../shared/inherited-sockets.ts';
import { acquireLock } from '../../shared/lock.ts';
import { memorydProtocol } from '../../shared/protocol/memoryd.ts';
import { loopdSettings } from '../../shared/settings.ts';
import { ChannelServer } from './channel/channel-server.ts';
import { openChannelParts } from './parts.ts';

await runDaemon({
  name: 'loopd',
  settings: loopdSettings,
  start: async ({ home, config, log, own, onReload }) => {
    const { settings } = config;
    mkdirSync(home.sessions, { recursive: true, mode: 0o700 });
    // The lock first, before any socket is touched: the logs have one writer.
    const lock = await acquireLock(join(home.sessions, '.loopd.lock'));
    own({ stop: () => lock.release() });
    const client = new Client(settings.memory.socket || home.memorySockets.loop, memorydProtocol, {
      unavailable: 'memory-unavailable',
    });
    own({ stop: () => client.close() });
    const parts = own(await openChannelParts({ home, settings, log, client }));
    const fd = inheritedSockets(process.env).get('channel');
    own(
      await ChannelServer.listen(parts.channel, {
        path: home.channelSocket,
        mode: Number.parseInt(settings.access.socket_mode, 8),
        connectionsMax: settings.limits.connections_max,
        ...(fd === undefined ? {} : { fd }),
      }),
    );
    onReload((fresh) => parts.reload(fresh.settings));
    // Ready does not wait for turns that a crash broke off: a prompt that comes in between finds them.
    void parts.channel.resumeTurns();
  },
});

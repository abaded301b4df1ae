/**
 * memoryd: keeps what an agent on this device remembers. Usage: memoryd serve --home DIR
 *
 *   run/{loop,gate,ops}-memory/memory.sock   JSON-RPC 2.0, one message a line; the role is the socket
 *   store/records, store/index               LevelDB: primary records; the recall index, derived
 *   memory/memory.md, memory/user.md         the two curated files
 *   sessions/*.jsonl                         read, never written
 *
 * SIGTERM and SIGINT stop it with status 0; SIGHUP reads the configuration again. 75: another memoryd holds the store.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { runDaemon } from '../../shared/daemon.ts';
import { Dispatch } from '../../shared/dispatch.ts';
import { acquireLock } from '../../shared/lock.ts';
import { inheritedSockets } from '../../shared/inherited-sockets.ts';
import { roles } from '../../shared/protocol/method.ts';
import { memorydProtocol } from '../../shared/protocol/memoryd.ts';
import { SocketServer } from '../../shared/server.ts';
import { memorydSettings } from '../../shared/settings.ts';
import type { MemorydContext } from './context.ts';
import { Faults } from './faults.ts';
import { handlers } from './handlers.ts';
import { openParts } from './parts.ts';
import { checkStoreOf, salvageStoreOf } from './store/store-chores.ts';

/** What was accepted has this long to finish at a stop. */
const finishMsMax = 5000;

await runDaemon({
  name: 'memoryd',
  settings: memorydSettings,
  chores: {
    'check-store': {
      about: 'read the files of a store that is not in use, change nothing, print what is wrong with them',
      run: (home) => checkStoreOf(home),
    },
    salvage: {
      about: 'put what can be read of a damaged store in its place, the damaged one aside',
      run: (home) => salvageStoreOf(home, Date.now()),
    },
  },
  start: async ({ home, config, log, own, onReload }) => {
    const { limits, access } = config.settings;
    const nowMs = Date.now;
    const faults = new Faults(nowMs);
    mkdirSync(home.store, { recursive: true, mode: 0o700 });
    // The lock first, before any socket is touched: a second memoryd must not take the first one's away.
    const lock = await acquireLock(join(home.store, 'memoryd.lock'));
    own({ stop: () => lock.release() });
    const parts = own(await openParts({ home, settings: config.settings, log, faults, nowMs }));
    const server = new SocketServer({
      lineBytesMax: limits.line_bytes_max,
      inFlightMax: limits.in_flight_max,
      connectionsMax: limits.connections_max,
      unreadBytesMax: limits.unread_bytes_max,
    });
    const context: MemorydContext = {
      ...parts.context,
      home,
      faults,
      nowMs,
      startedMs: nowMs(),
      connections: () => server.connections,
    };
    const dispatch = Dispatch.of({
      protocol: memorydProtocol,
      handlers,
      context,
      depthMax: limits.depth_max,
      onError: (error, method) => {
        if (!faults.count(error.code)) return;
        const { code, message, details, cause } = error;
        log.error({ code, RUNBOOK: code, method, details, err: cause }, message);
      },
    });
    own({
      stop: async () => {
        dispatch.isStopping = true;
        await server.stop(finishMsMax);
      },
    });
    const inherited = inheritedSockets(process.env);
    for (const role of roles) {
      const fd = inherited.get(role);
      await server.listen({
        path: home.memorySockets[role],
        mode: Number.parseInt(access.socket_mode, 8),
        connect: () => {
          const connection = dispatch.connection(role);
          return (line) => connection.handle(line);
        },
        ...(fd === undefined ? {} : { fd }),
      });
    }
    onReload((fresh) => parts.reload(fresh.settings));
    parts.start();
  },
});

/** Our engine as its users have it: memoryd on its socket, reading session logs. */
import { turnKey } from './data.ts';
import type { Engine, EngineKind } from './engine.ts';
import { MemorydHome } from './memoryd-home.ts';

/** As much as a reply may hold, so that no hit is left out for its length. */
const charsMax = 200_000;
/** Updates in flight, as from several sessions at once. */
const updatesAtOnce = 8;

export const loopkeep: EngineKind = {
  name: 'loopkeep',
  create: async () => {
    const home = new MemorydHome();
    await home.start();
    const engine: Engine = {
      index: async (sessions) => {
        for (const session of sessions) home.writeSession(session);
        const before = await home.residentBytes();
        const begun = performance.now();
        const rest = sessions.map(({ id }) => id);
        const update = async () => {
          for (let id = rest.pop(); id !== undefined; id = rest.pop())
            await home.client.call('updated', { session: id });
        };
        await Promise.all(Array.from({ length: updatesAtOnce }, update));
        const indexMs = performance.now() - begun;
        const memoryBytes = Math.max(0, (await home.residentBytes()) - before);
        return { indexMs, memoryBytes, diskBytes: home.diskBytes() };
      },
      search: async (query, limit) => {
        const { hits } = await home.client.call('recall', { query, limit, window: 0, max_chars: charsMax });
        return hits.map(({ session = '', ref = '' }) => turnKey(session, ref));
      },
      close: async () => {
        await home.stop();
        home.remove();
      },
    };
    return engine;
  },
};

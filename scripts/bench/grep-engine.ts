/** What plain grep would give: turns by how many words of the question stand in them, as they are written. */
import { turnKey } from './data.ts';
import { turnsOf, type Engine, type EngineKind } from './engine.ts';
import { tellingWordsOf } from './queries.ts';

export const grep: EngineKind = {
  name: 'grep, most words first',
  create: async () => {
    let lines: { key: string; text: string }[] = [];
    const engine: Engine = {
      index: async (sessions) => {
        lines = sessions
          .flatMap(turnsOf)
          .map(({ session, ref, text }) => ({ key: turnKey(session, ref), text: text.toLowerCase() }));
        return { indexMs: 0, diskBytes: 0 };
      },
      search: async (query, limit) => {
        const words = [...new Set(tellingWordsOf(query))];
        const found = lines.flatMap(({ key, text }) => {
          const count = words.filter((word) => text.includes(word)).length;
          return count === 0 ? [] : [{ key, count }];
        });
        return found
          .toSorted((one, other) => other.count - one.count)
          .slice(0, limit)
          .map(({ key }) => key);
      },
      close: async () => {},
    };
    return engine;
  },
};

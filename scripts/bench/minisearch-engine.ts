/** MiniSearch, tuned: stop words out, Porter2 stems, words joined by OR. */
import { createRequire } from 'node:module';
import stem from 'wink-porter2-stemmer';
import { stopWords } from '../../daemons/memoryd/recall/analysis/stop-words.ts';
import { turnKey } from './data.ts';
import { turnsOf, type Engine, type EngineKind } from './engine.ts';
import { wordsOf } from './queries.ts';

interface Index {
  addAll(documents: readonly { id: number; text: string }[]): void;
  search(query: string): { id: number }[];
}

interface Options {
  fields: string[];
  tokenize: (text: string) => string[];
  processTerm: (term: string) => string | null;
}

export const minisearch: EngineKind = {
  name: 'MiniSearch, stop words, Porter2',
  packageName: 'minisearch',
  create: async () => {
    const MiniSearch = createRequire(import.meta.url)('minisearch') as new (options: Options) => Index;
    const index = new MiniSearch({
      fields: ['text'],
      tokenize: wordsOf,
      processTerm: (term) => (stopWords.has(term) ? null : stem(term)),
    });
    const keys: string[] = [];
    const engine: Engine = {
      index: async (sessions) => {
        const before = process.memoryUsage().heapUsed;
        const begun = performance.now();
        const turns = sessions.flatMap(turnsOf);
        index.addAll(turns.map(({ text }, id) => ({ id, text })));
        const indexMs = performance.now() - begun;
        for (const { session, ref } of turns) keys.push(turnKey(session, ref));
        const memoryBytes = Math.max(0, process.memoryUsage().heapUsed - before);
        return { indexMs, memoryBytes, diskBytes: Buffer.byteLength(JSON.stringify(index)) };
      },
      search: async (query, limit) =>
        index
          .search(query)
          .slice(0, limit)
          .map(({ id }) => keys[id] ?? ''),
      close: async () => {},
    };
    return engine;
  },
};

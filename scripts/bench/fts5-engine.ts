/** SQLite's FTS5 by better-sqlite3: porter stemming, words joined by OR, stop words cut from the query, ranked by bm25. */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { turnsOf, type Engine, type EngineKind } from './engine.ts';
import { turnKey } from './data.ts';
import { tellingWordsOf } from './queries.ts';

/** The part of better-sqlite3 that is used here; its types are not installed. */
export interface Database {
  exec(sql: string): void;
  pragma(text: string): unknown;
  prepare(sql: string): {
    run(...values: unknown[]): unknown;
    all(...values: unknown[]): { rowid: number }[];
  };
  transaction<A extends unknown[]>(work: (...args: A) => void): (...args: A) => void;
  close(): void;
}

export function openDatabase(path: string): Database {
  const Sqlite = createRequire(import.meta.url)('better-sqlite3') as new (path: string) => Database;
  return new Sqlite(path);
}

/** Contentless, because our index keeps no texts either. */
export const createTable = `CREATE VIRTUAL TABLE turns USING fts5(text, content='', tokenize='porter unicode61')`;

export const selectTurns = 'SELECT rowid FROM turns WHERE turns MATCH ? ORDER BY rank LIMIT ?';

/** Words as strings, so that nothing in them is syntax. */
export function matchOf(query: string): string {
  return tellingWordsOf(query)
    .map((word) => `"${word}"`)
    .join(' OR ');
}

export const fts5: EngineKind = {
  name: 'FTS5 porter, OR, stop words cut',
  packageName: 'better-sqlite3',
  create: async () => {
    const folder = mkdtempSync(join(tmpdir(), 'loopkeep-fts5-'));
    const path = join(folder, 'turns.db');
    const database = openDatabase(path);
    const keys: string[] = [''];
    database.pragma('journal_mode = WAL');
    database.exec(createTable);
    const insert = database.prepare('INSERT INTO turns (rowid, text) VALUES (?, ?)');
    const select = database.prepare(selectTurns);
    const engine: Engine = {
      index: async (sessions) => {
        const begun = performance.now();
        database.transaction(() => {
          for (const { session, ref, text } of sessions.flatMap(turnsOf)) {
            insert.run(keys.length, text);
            keys.push(turnKey(session, ref));
          }
        })();
        database.pragma('wal_checkpoint(TRUNCATE)');
        return { indexMs: performance.now() - begun, diskBytes: statSync(path).size };
      },
      search: async (query, limit) => {
        const match = matchOf(query);
        return match === '' ? [] : select.all(match, limit).map(({ rowid }) => keys[rowid] ?? '');
      },
      close: async () => {
        database.close();
        rmSync(folder, { recursive: true });
      },
    };
    return engine;
  },
};

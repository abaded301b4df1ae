/** What the benches ask of a search engine, ours or another. */
import type { ImportedSession } from '../import/imported-session.ts';
import type { Ranking } from './metrics.ts';

export interface Turn {
  readonly session: string;
  readonly ref: string;
  readonly text: string;
}

export interface Cost {
  readonly indexMs: number;
  /** What the engine holds in memory; undefined where it was not measured. */
  readonly memoryBytes?: number;
  readonly diskBytes: number;
}

export interface Engine {
  /** Indexes everything; what it returns is ready to answer. */
  index(sessions: readonly ImportedSession[]): Promise<Cost>;
  /** The best turns, so many at most, best first. */
  search(query: string, limit: number): Promise<Ranking>;
  close(): Promise<void>;
}

export interface EngineKind {
  readonly name: string;
  /** What must be installed beside the benches for it. */
  readonly packageName?: string;
  create(): Promise<Engine>;
}

export function turnsOf({ id, records }: ImportedSession): Turn[] {
  return records.flatMap((record) => {
    if (record.type !== 'turn' && record.type !== 'assistant') return [];
    const { ref = '', name, text } = record;
    // Who spoke is a field of its own for our engine; to the others it is a word of the text, which serves them best.
    return [{ session: id, ref, text: name === undefined ? text : `${name}: ${text}` }];
  });
}

/** What tests and benches of recall share: texts in a map, and short ways to write sessions. */
import assert from 'node:assert/strict';
import type { RecallParams } from '../../../shared/protocol/memoryd.ts';
import type { RecallReply } from '../../../shared/protocol/replies.ts';
import type { Container, Item, SessionFacts, Texts, Wanted } from './item.ts';
import { assetPath } from '../../../shared/assets.ts';
import { openMemory } from '../store/memory-engine.ts';
import { WordVectors } from './analysis/word-vectors.ts';
import { recallTiers } from './query/recall.ts';
import { RecallIndex } from './recall-index.ts';

export const testStartMs = Date.UTC(2026, 10, 1, 12);
const minuteMs = 60_000;

export class MapTexts implements Texts {
  readonly #items = new Map<string, Item>();

  put({ kind, id }: Container, items: readonly Item[]): void {
    for (const item of items) this.#items.set(`${kind} ${id} ${item.record}`, item);
  }

  async read({ kind, id }: Container, wanted: readonly Wanted[]): Promise<(Item | undefined)[]> {
    return wanted.map(({ record }) => this.#items.get(`${kind} ${id} ${record}`));
  }
}

export function session(id: string, facts: Partial<SessionFacts> = {}): SessionFacts {
  return { kind: 'session', id, origin: 'person', startedMs: testStartMs, ...facts };
}

/** Messages of the person and the assistant by turns, a minute apart. */
export function chat(...texts: string[]): Item[] {
  return texts.map((text, at) => ({
    source: 'message',
    record: at + 1,
    turn: Math.floor(at / 2) + 1,
    atMs: testStartMs + at * minuteMs,
    role: at % 2 === 0 ? 'person' : 'assistant',
    text,
    locator: `${at * 100}:100`,
  }));
}

export function ask(
  index: RecallIndex,
  query: string,
  params: Partial<RecallParams> = {},
): Promise<RecallReply> {
  return index.recall({ query, ...params }, { state: 'ok', behind: 0, forgotten: 0 });
}

let vectors: Promise<WordVectors> | undefined;

/** An index in memory. */
export async function indexOver(
  texts: Texts,
  options: Partial<Parameters<typeof RecallIndex.over>[1]> = {},
): Promise<RecallIndex> {
  vectors ??= WordVectors.load(assetPath('config/recall/words.bin'));
  return RecallIndex.over(await openMemory({ encoding: 'binary' }), {
    texts,
    nowMs: () => testStartMs + 30 * 24 * 60 * minuteMs,
    timeZone: 'UTC',
    vectors: await vectors,
    ...options,
  });
}

/** Whatever the query is: there are hits, or a note says why not. */
export async function assertAnswered(index: RecallIndex, query: string): Promise<void> {
  const { hits, note, tier } = await ask(index, query);
  assert.ok(hits.length > 0 || (note ?? '') !== '', JSON.stringify(query));
  assert.ok((recallTiers as readonly string[]).includes(tier), tier);
}

/** Conversations from elsewhere into sessions, streamed: one conversation is in memory at a time. */
import { AppError } from '../../shared/errors.ts';
import { chatgptSession, isChatgpt } from './chatgpt.ts';
import { claudeSession, isClaude } from './claude.ts';
import type { ImportedSession } from './imported-session.ts';
import { jsonElements } from './json-elements.ts';
import { isJsonl, jsonlSessions } from './jsonl.ts';
import { isLocomo, locomoSessions } from './locomo.ts';
import { isLongmemeval, longmemevalSessions } from './longmemeval.ts';

export const importKinds = ['chatgpt', 'claude', 'locomo', 'longmemeval', 'jsonl'] as const;
export type ImportKind = (typeof importKinds)[number];

interface ImportSource {
  /** `auto` decides by the first element. */
  readonly kind: ImportKind | 'auto';
  readonly source: string | AsyncIterable<Uint8Array | string>;
  /** Where the format itself has no id: the file's name without its ending. */
  readonly name: string;
}

/** In this order: the shapes of the others are too particular to be taken for lines of messages. */
const recognised: readonly [ImportKind, (element: unknown) => boolean][] = [
  ['chatgpt', isChatgpt],
  ['claude', isClaude],
  ['longmemeval', isLongmemeval],
  ['locomo', isLocomo],
  ['jsonl', isJsonl],
];

/** @throws AppError rejected where the source is not of the kind, or of none that is known */
export async function* parseImport({
  kind,
  source,
  name,
}: ImportSource): AsyncGenerator<ImportedSession, void, undefined> {
  const elements = jsonElements(typeof source === 'string' ? once(source) : source);
  const first = await elements.next();
  if (first.done === true) return;
  const decided = kind === 'auto' ? kindOf(first.value) : kind;
  yield* sessionsOf(decided, resumed(first.value, elements), name);
}

function kindOf(element: unknown): ImportKind {
  const found = recognised.find(([, isOfKind]) => isOfKind(element));
  if (found === undefined)
    throw new AppError('rejected', `the first element is of no known kind (${importKinds.join(', ')})`);
  return found[0];
}

async function* sessionsOf(
  kind: ImportKind,
  elements: AsyncIterable<unknown>,
  name: string,
): AsyncGenerator<ImportedSession, void, undefined> {
  if (kind === 'jsonl') {
    yield* jsonlSessions(elements, name);
    return;
  }
  const isOfKind = recognised.find(([known]) => known === kind)?.[1] ?? (() => false);
  let number = 0;
  for await (const element of elements) {
    number += 1;
    if (!isOfKind(element)) throw new AppError('rejected', `element ${number} is not of the kind ${kind}`);
    const own = number === 1 ? name : `${name}-${number}`;
    if (kind === 'locomo') yield* locomoSessions(element, own);
    else if (kind === 'longmemeval') yield* longmemevalSessions(element);
    else {
      const session = kind === 'chatgpt' ? chatgptSession(element, own) : claudeSession(element, own);
      if (session !== undefined) yield session;
    }
  }
}

async function* once(text: string): AsyncGenerator<string, void, undefined> {
  yield text;
}

async function* resumed(
  first: unknown,
  rest: AsyncIterable<unknown>,
): AsyncGenerator<unknown, void, undefined> {
  yield first;
  yield* rest;
}

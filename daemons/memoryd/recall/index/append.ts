/** Appends items to the index: all of them and the caller's progress in one batch, or nothing; what is there already is left out. */
import type { Item, SessionFacts } from '../item.ts';
import type { RecallSource } from '../../../../shared/protocol/replies.ts';
import { recallSources } from '../../../../shared/protocol/replies.ts';
import { cuesOf } from '../analysis/cues.ts';
import { passagesOf, type Passage } from '../analysis/passages.ts';
import { flagsOf, lengthMax, mark, none, sourceOf } from './columns.ts';
import { keys } from './keys.ts';
import type { Meanings } from './meanings.ts';
import { countMax } from './postings.ts';
import { writeSession, type Session } from './sessions.ts';
import { writeTailTurn, type TailTurn } from './tail.ts';
import type { IndexOperation, TurnIndex } from './turn-index.ts';

export interface Progress {
  readonly key: string;
  readonly value: string;
}

/** What one item becomes, before it has a session and a speaker by number. */
type Draft = Omit<TailTurn, 'session' | 'speaker'> & { readonly name: string | undefined };

export async function append(
  index: TurnIndex,
  {
    facts,
    items,
    progress,
  }: { facts: SessionFacts; items: readonly Item[]; progress?: Progress | undefined },
): Promise<void> {
  const fresh = freshItems(index, facts, items.filter(isFindable));
  const operations: IndexOperation[] = [];
  if (progress !== undefined) {
    const key = keys.progress(progress.key);
    operations.push(
      progress.value === '' ? { type: 'del', key } : { type: 'put', key, value: Buffer.from(progress.value) },
    );
  }
  const drafts = fresh.flatMap((item) => [...draftsOf(item, facts, index.meanings)]);
  const session = drafts.length === 0 ? undefined : sessionFor(index, facts, operations);
  const turns: TailTurn[] = [];
  for (const draft of drafts) {
    const turn = { ...draft, session: session!.number, speaker: speakerFor(index, draft.name, operations) };
    operations.push({
      type: 'put',
      key: keys.turn(index.columns.count + turns.length),
      value: writeTailTurn(turn),
    });
    turns.push(turn);
  }
  if (operations.length === 0) return;
  await index.engine.write(operations, { sync: false });
  for (const turn of turns) index.addToTail(turn);
  if (session !== undefined) {
    session.lastRecord = highest(fresh, session.lastRecord ?? none);
  }
}

/** The results of recall itself are never found again; the intake leaves them out, and so does this. */
function isFindable({ source, name, text }: Item): boolean {
  return text !== '' && !(source === 'tool' && name === 'recall');
}

/** Items after a crash may come again: those that the session has are left out. */
function freshItems(index: TurnIndex, facts: SessionFacts, items: readonly Item[]): Item[] {
  const session = index.sessions.find(facts);
  const last = session === undefined ? none : lastRecordOf(index, session);
  const known = items.some(({ record }) => record <= last)
    ? knownRecords(index, session!)
    : new Set<string>();
  return items.filter((item) => {
    const identity = identityOf(item.record, item.source);
    if (known.has(identity)) return false;
    known.add(identity);
    return true;
  });
}

/** A run numbers its episodes and its summaries apart. */
function identityOf(record: number, source: RecallSource): string {
  return `${record} ${recallSources.indexOf(source) < 2 ? '' : source}`;
}

function lastRecordOf(index: TurnIndex, session: Session): number {
  session.lastRecord ??= highest(recordsOf(index, session), none);
  return session.lastRecord;
}

function highest(records: readonly { record: number }[], atLeast: number): number {
  return records.reduce((max, { record }) => Math.max(max, record), atLeast);
}

function knownRecords(index: TurnIndex, session: Session): Set<string> {
  return new Set(recordsOf(index, session).map(({ record, source }) => identityOf(record, source)));
}

function recordsOf(index: TurnIndex, session: Session): { record: number; source: RecallSource }[] {
  return index.turnsOf(session).flatMap((turn) => {
    const place = index.placeOf(turn);
    return place === undefined
      ? []
      : [{ record: place.record, source: sourceOf(index.columns.flags[turn]!) }];
  });
}

function sessionFor(index: TurnIndex, facts: SessionFacts, operations: IndexOperation[]): Session {
  const known = index.sessions.find(facts);
  if (known !== undefined) return known;
  const session = index.sessions.add(facts);
  operations.push({ type: 'put', key: keys.session(session.number), value: writeSession(session) });
  return session;
}

function speakerFor(index: TurnIndex, name: string | undefined, operations: IndexOperation[]): number {
  if (name === undefined || name === '') return 0;
  const { number, isNew } = index.names.assign(name);
  if (isNew) operations.push({ type: 'put', key: keys.name(number), value: Buffer.from(name) });
  return number;
}

function* draftsOf(item: Item, { startedMs }: SessionFacts, meanings: Meanings): Generator<Draft> {
  const isSpoken = item.role === 'person' || item.role === 'assistant';
  let continuation = 0;
  for (const passage of passagesOf(item.text)) {
    const { terms, length } = termsOf(passage);
    yield {
      record: item.record,
      locator: item.locator,
      start: passage.start,
      atMs: Math.trunc(Number.isFinite(item.atMs) ? item.atMs : startedMs),
      flags: flagsOf(cuesOf(passage.text, { spoken: isSpoken }), item.role, item.source) | continuation,
      length,
      name: isSpoken ? item.name : undefined,
      terms,
      meaning: meanings.pack(terms),
    };
    continuation = mark.continuation;
  }
}

function termsOf({ tokens }: Passage): { terms: Map<string, number>; length: number } {
  const terms = new Map<string, number>();
  let length = 0;
  for (const { kind, term } of tokens) {
    terms.set(term, Math.min(countMax, (terms.get(term) ?? 0) + 1));
    // A whole repeats its words, and a single letter those of its pairs.
    if (kind !== 'whole' && kind !== 'single') length += 1;
  }
  return { terms, length: Math.min(lengthMax, length) };
}

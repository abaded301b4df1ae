/**
 * What the index does behind its callers' backs: it seals blocks of new turns into segments, merges segments so that
 * there are few to read, and rewrites those that hold forgotten turns. All of it in slices, so that nobody waits long,
 * and each step counts only when the manifest says so: a kill in between leaves keys that the next start drops.
 */
import { setImmediate } from 'node:timers/promises';
import { mark, writeAttributes } from './columns.ts';
import { compareKeys } from './key-order.ts';
import { keys, ranges, termOfKey, wholeRange } from './keys.ts';
import { blockTurns, sealedTurns, writeManifest, type Manifest, type Segment } from './manifest.ts';
import { pageTurns, writePage } from './places.ts';
import { PostingList, PostingWriter, readPostings, type TurnRange } from './postings.ts';
import type { IndexOperation, TurnIndex } from './turn-index.ts';
import { WordsWriter } from './vocabulary.ts';

/** Segments of one level that become one of the next. */
const mergedSegments = 8;
/** A slice of writing ends after so many terms or bytes. */
const sliceTermsMax = 256;
const sliceBytesMax = 128 * 1024;

/** One at a time with appends and forgetting. */
export type Exclusive = <T>(work: () => Promise<T>) => Promise<T>;

interface TermPostings {
  readonly term: string;
  readonly postings: PostingList;
}

/** What upkeep did: `rewrote` leaves keys behind that only a compaction takes off the disk. */
export type Upkept = 'nothing' | 'sealed' | 'rewrote';

/** Does the next thing there is to do. */
export async function upkeep(index: TurnIndex, exclusive: Exclusive): Promise<Upkept> {
  if (index.columns.count - sealedTurns(index.manifest) >= blockTurns) {
    await seal(index, exclusive);
    return 'sealed';
  }
  const { segments } = index.manifest;
  const stale = segments.find((segment) => index.deadIn(segment) > segment.purged);
  if (stale !== undefined) {
    await replace(index, { old: [stale], level: stale.level }, exclusive);
    return 'rewrote';
  }
  const group = mergeGroup(segments);
  if (group === undefined) return 'nothing';
  await replace(index, { old: group, level: group[0]!.level + 1 }, exclusive);
  return 'rewrote';
}

/** Levels never rise from left to right, so equals lie together. */
function mergeGroup(segments: readonly Segment[]): Segment[] | undefined {
  for (let start = 0; start + mergedSegments <= segments.length; start += 1) {
    const group = segments.slice(start, start + mergedSegments);
    if (group.every(({ level }) => level === group[0]!.level)) return group;
  }
  return undefined;
}

async function seal(index: TurnIndex, exclusive: Exclusive): Promise<void> {
  const first = sealedTurns(index.manifest);
  const range = { first, end: first + blockTurns };
  const id = index.manifest.nextSegment;
  const purged = index.deadIn(range);
  const words = await writeSegment(index, { id, range, terms: tailTerms(index, range) });
  await exclusive(async () => {
    const segment: Segment = { id, ...range, level: 0, purged };
    const manifest = { segments: [...index.manifest.segments, segment], nextSegment: id + 1 };
    await index.engine.write(
      [
        ...manifestOperations(manifest, { id, words }),
        ...blockOperations(index, range),
        ...turnsOf(range).map((turn) => ({ type: 'del' as const, key: keys.turn(turn) })),
      ],
      { sync: false },
    );
    index.manifest = manifest;
    index.tail = index.tail.from(range.end);
  });
}

function turnsOf({ first, end }: TurnRange): number[] {
  return Array.from({ length: end - first }, (_, at) => first + at);
}

/** The attributes and places of sealed turns, as they are now. */
export function blockOperations(index: TurnIndex, { first, end }: TurnRange): IndexOperation[] {
  const operations: IndexOperation[] = [];
  for (let turn = first; turn < end; turn += blockTurns) {
    const value = writeAttributes(index.columns, turn, turn + blockTurns);
    operations.push({ type: 'put', key: keys.attributes(turn / blockTurns), value });
    operations.push(meaningsOperation(index, turn / blockTurns));
  }
  for (let turn = first; turn < end; turn += pageTurns) {
    operations.push(pageOperation(index, turn / pageTurns));
  }
  return operations;
}

export function meaningsOperation({ meanings }: TurnIndex, block: number): IndexOperation {
  const value = meanings.block(block * blockTurns, (block + 1) * blockTurns);
  return { type: 'put', key: keys.meanings(block), value };
}

/** The places of one page without those of the dead. */
export function pageOperation(index: TurnIndex, page: number): IndexOperation {
  const sessions = index.pageSessions(page);
  const places = sessions.map((_, at) => index.placeOf(page * pageTurns + at));
  return { type: 'put', key: keys.page(page), value: writePage(sessions, places) };
}

async function* tailTerms(index: TurnIndex, { end }: TurnRange): AsyncGenerator<TermPostings> {
  const all = [...index.tail.terms].toSorted(([one], [other]) => compareKeys(one, other));
  for (const [term, list] of all) {
    const postings = new PostingList();
    for (let at = 0; at < list.length; at += 1) {
      const turn = list.turns[at]!;
      if (turn < end && !index.columns.isDead(turn)) postings.add(turn, list.counts[at]!);
    }
    yield { term, postings };
  }
}

async function replace(
  index: TurnIndex,
  { old, level }: { old: readonly Segment[]; level: number },
  exclusive: Exclusive,
): Promise<void> {
  const range = { first: old[0]!.first, end: old.at(-1)!.end };
  const id = index.manifest.nextSegment;
  const purged = index.deadIn(range);
  const words = await writeSegment(index, { id, range, terms: mergedTerms(index, old) });
  await exclusive(async () => {
    const { segments } = index.manifest;
    const at = segments.indexOf(old[0]!);
    const merged: Segment = { id, ...range, level, purged };
    const manifest = { segments: segments.toSpliced(at, old.length, merged), nextSegment: id + 1 };
    const gone = old.map((segment): IndexOperation => ({ type: 'del', key: keys.words(segment.id) }));
    await index.engine.write([...manifestOperations(manifest, { id, words }), ...gone], { sync: false });
    index.manifest = manifest;
  });
  for (const segment of old) await index.dropRange(ranges.postings(segment.id));
}

/** Writes a segment that does not count yet. @returns its words. */
async function writeSegment(
  index: TurnIndex,
  { id, range, terms }: { id: number; range: TurnRange; terms: AsyncIterable<TermPostings> },
): Promise<Uint8Array> {
  const words = new WordsWriter();
  const writer = new PostingWriter(range.first);
  let slice: IndexOperation[] = [];
  let sliceBytes = 0;
  const flush = async () => {
    await index.engine.write(slice, { sync: false });
    slice = [];
    sliceBytes = 0;
    await setImmediate();
  };
  for await (const { term, postings } of terms) {
    if (postings.length === 0) continue;
    for (let at = 0; at < postings.length; at += 1) writer.add(postings.turns[at]!, postings.counts[at]!);
    const value = writer.take();
    slice.push({ type: 'put', key: keys.postings(id, term), value });
    sliceBytes += value.length;
    words.add(term, postings.length);
    if (slice.length >= sliceTermsMax || sliceBytes >= sliceBytesMax) await flush();
  }
  await flush();
  return words.take();
}

/** The terms of several segments in order, their postings joined, without the dead. */
async function* mergedTerms(index: TurnIndex, segments: readonly Segment[]): AsyncGenerator<TermPostings> {
  const streams = await Promise.all(segments.map((segment) => SegmentStream.open(index, segment)));
  const { flags } = index.columns;
  for (;;) {
    const term = lowest(streams);
    if (term === undefined) return;
    const joined = new PostingList();
    for (const stream of streams) {
      if (stream.term !== term) continue;
      readPostings(stream.value!, stream.segment, joined);
      await stream.advance();
    }
    yield { term, postings: withoutDead(joined, flags) };
  }
}

function lowest(streams: readonly SegmentStream[]): string | undefined {
  let lowest: string | undefined;
  for (const { term } of streams) {
    if (term !== undefined && (lowest === undefined || compareKeys(term, lowest) < 0)) lowest = term;
  }
  return lowest;
}

function withoutDead(list: PostingList, flags: Uint16Array): PostingList {
  let kept = 0;
  for (let at = 0; at < list.length; at += 1) {
    if ((flags[list.turns[at]!]! & mark.dead) !== 0) continue;
    list.turns[kept] = list.turns[at]!;
    list.counts[kept] = list.counts[at]!;
    kept += 1;
  }
  list.length = kept;
  return list;
}

/** One segment's terms in order, a page at a time. */
export class SegmentStream {
  readonly segment: Segment;
  readonly #pages: AsyncIterator<[string, Uint8Array][]>;
  #page: [string, Uint8Array][] = [];
  #at = -1;

  static async open(index: TurnIndex, segment: Segment): Promise<SegmentStream> {
    const stream = new SegmentStream(index, segment);
    await stream.advance();
    return stream;
  }

  private constructor(index: TurnIndex, segment: Segment) {
    this.segment = segment;
    this.#pages = index.engine.range(ranges.postings(segment.id))[Symbol.asyncIterator]();
  }

  get term(): string | undefined {
    const entry = this.#page[this.#at];
    return entry === undefined ? undefined : termOfKey(entry[0]);
  }

  get value(): Uint8Array | undefined {
    return this.#page[this.#at]?.[1];
  }

  async advance(): Promise<void> {
    this.#at += 1;
    if (this.#at < this.#page.length) return;
    const next = await this.#pages.next();
    this.#page = next.done === true ? [] : next.value;
    this.#at = 0;
  }
}

function manifestOperations(
  manifest: Manifest,
  { id, words }: { id: number; words: Uint8Array },
): IndexOperation[] {
  return [
    { type: 'put', key: keys.words(id), value: words },
    { type: 'put', key: keys.meta('manifest'), value: writeManifest(manifest) },
  ];
}

/** Deleted and replaced values stay in LevelDB's files and logs until their range is compacted; what was forgotten must not. */
export async function compact(index: TurnIndex): Promise<void> {
  await index.engine.compact(wholeRange);
  if (hasForgotten(index))
    await index.engine.write([{ type: 'del', key: keys.meta('forgot') }], { sync: false });
}

/** Something was forgotten, and a kill may have come before it left the disk. */
export function hasForgotten({ engine }: TurnIndex): boolean {
  return engine.get(keys.meta('forgot')) !== undefined;
}

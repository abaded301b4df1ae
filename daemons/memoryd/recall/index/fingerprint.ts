/** What an index holds, as one digest: the same for two that hold the same, however their segments and numbers came about. */
import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { containerKey } from './sessions.ts';
import { readPostings, PostingList } from './postings.ts';
import type { TurnIndex } from './turn-index.ts';
import { SegmentStream } from './upkeep.ts';

/** Work between two pauses. */
const sliceTerms = 1_000;
const sliceTurns = 10_000;

/** Sums of hashes do not depend on the order in which they are added. */
class Sums {
  readonly low: Uint32Array;
  readonly high: Uint32Array;

  constructor(sessions: number) {
    this.low = new Uint32Array(sessions);
    this.high = new Uint32Array(sessions);
  }

  add(session: number, one: number, other: number): void {
    this.low[session]! += mix(one ^ Math.imul(other, 0x85ebca6b));
    this.high[session]! += mix(other ^ Math.imul(one, 0xc2b2ae35) ^ 0x27d4eb2f);
  }
}

export async function fingerprint(index: TurnIndex): Promise<string> {
  const { columns, sessions } = index;
  const sums = new Sums(sessions.total);
  const turns = new Uint32Array(columns.count);
  for (let turn = 0; turn < columns.count; turn += 1) {
    const place = index.placeOf(turn);
    if (place === undefined) continue;
    turns[turn] = hashOf(`${place.record} ${place.start}`);
    const { flags, length, atMs, speaker } = columns;
    const name = index.names.nameOf(speaker[turn]!) ?? '';
    const facts = [
      flags[turn],
      length[turn],
      atMs[turn],
      name,
      place.locator,
      index.meanings.packedOf(turn),
    ].join('\0');
    sums.add(columns.session[turn]!, turns[turn]!, hashOf(facts));
    if (turn % sliceTurns === 0) await setImmediate();
  }
  const add = (term: number, list: PostingList) => {
    for (let at = 0; at < list.length; at += 1) {
      const turn = list.turns[at]!;
      if (columns.isDead(turn) || turn >= turns.length) continue;
      sums.add(columns.session[turn]!, turns[turn]!, mix(term + list.counts[at]!));
    }
  };
  for (const [term, list] of index.tail.terms) add(hashOf(term), list);
  await addSegments(index, add);
  return digestOf(index, sums);
}

async function addSegments(index: TurnIndex, add: (term: number, list: PostingList) => void): Promise<void> {
  for (const segment of index.manifest.segments) {
    const stream = await SegmentStream.open(index, segment);
    for (let terms = 1; stream.term !== undefined; terms += 1) {
      const list = new PostingList();
      readPostings(stream.value!, segment, list);
      add(hashOf(stream.term), list);
      await stream.advance();
      if (terms % sliceTerms === 0) await setImmediate();
    }
  }
}

function digestOf({ sessions }: TurnIndex, { low, high }: Sums): string {
  const digest = createHash('sha256');
  const lines = [...sessions]
    .filter(({ turns, isForgotten }) => turns > 0 && !isForgotten)
    .map((session) => {
      const { number, origin, startedMs, turns } = session;
      return JSON.stringify([containerKey(session), origin, startedMs, turns, low[number], high[number]]);
    });
  for (const line of lines.toSorted()) digest.update(line).update('\n');
  return digest.digest('hex');
}

/** FNV-1a over UTF-16 units. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return mix(hash);
}

function mix(value: number): number {
  let mixed = value ^ (value >>> 16);
  mixed = Math.imul(mixed, 0x7feb352d);
  mixed ^= mixed >>> 15;
  mixed = Math.imul(mixed, 0x846ca68b);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

/** What ranking needs to know of every turn, in memory by columns: 29 bytes a turn. */
import type { RecallRole, RecallSource } from '../../../../shared/protocol/replies.ts';
import { recallSources } from '../../../../shared/protocol/replies.ts';
import { ByteReader, ByteWriter } from './bytes.ts';
import { IndexDamage } from './damage.ts';

/** Bits above the cues of `cues.ts`. */
export const mark = { continuation: 32, dead: 64 } as const;
const roles: readonly RecallRole[] = ['person', 'assistant', 'tool', 'run'];
const roleShift = 8;
const sourceShift = 10;
const twoBits = 3;

export function flagsOf(cues: number, role: RecallRole, source: RecallSource): number {
  return cues | (roles.indexOf(role) << roleShift) | (recallSources.indexOf(source) << sourceShift);
}

export function roleOf(flags: number): RecallRole {
  return roles[(flags >> roleShift) & twoBits]!;
}

export function sourceOf(flags: number): RecallSource {
  return recallSources[(flags >> sourceShift) & twoBits]!;
}

export interface Turn {
  readonly session: number;
  readonly flags: number;
  /** Terms of it, at most 255. */
  readonly length: number;
  /** 0 where nobody is named. */
  readonly speaker: number;
  readonly atMs: number;
}

const capacityMin = 4_096;
export const none = -1;
export const lengthMax = 255;

export class Columns {
  count = 0;
  /** Turns that are not dead, and their lengths together. */
  live = 0;
  liveLength = 0;
  session = new Uint32Array(capacityMin);
  flags = new Uint16Array(capacityMin);
  length = new Uint8Array(capacityMin);
  speaker = new Uint16Array(capacityMin);
  atMs = new Float64Array(capacityMin);
  /** The turn before and after in the same session, or `none`. */
  before = new Int32Array(capacityMin);
  after = new Int32Array(capacityMin);

  /** @param before the last turn of the session so far, or `none`. */
  add({ session, flags, length, speaker, atMs }: Turn, before: number): number {
    if (this.count === this.session.length) this.#grow();
    const turn = this.count;
    this.session[turn] = session;
    this.flags[turn] = flags;
    this.length[turn] = length;
    this.speaker[turn] = speaker;
    this.atMs[turn] = atMs;
    this.before[turn] = none;
    this.after[turn] = none;
    this.count += 1;
    if ((flags & mark.dead) !== 0) return turn;
    this.before[turn] = before;
    if (before !== none) this.after[before] = turn;
    this.live += 1;
    this.liveLength += length;
    return turn;
  }

  isDead(turn: number): boolean {
    return (this.flags[turn]! & mark.dead) !== 0;
  }

  /** Takes a turn out of its session and of all counts. */
  kill(turn: number): void {
    if (this.isDead(turn)) return;
    const [before, after] = [this.before[turn]!, this.after[turn]!];
    if (before !== none) this.after[before] = after;
    if (after !== none) this.before[after] = before;
    this.live -= 1;
    this.liveLength -= this.length[turn]!;
    this.before[turn] = none;
    this.after[turn] = none;
    this.flags[turn] = mark.dead;
    this.length[turn] = 0;
    this.speaker[turn] = 0;
    this.atMs[turn] = 0;
  }

  #grow(): void {
    const grow = <T extends Uint8Array | Uint16Array | Uint32Array | Int32Array | Float64Array>(
      old: T,
    ): T => {
      const grown = new (old.constructor as new (length: number) => T)(old.length * 2);
      grown.set(old);
      return grown;
    };
    this.session = grow(this.session);
    this.flags = grow(this.flags);
    this.length = grow(this.length);
    this.speaker = grow(this.speaker);
    this.atMs = grow(this.atMs);
    this.before = grow(this.before);
    this.after = grow(this.after);
  }
}

/** One block's attributes as bytes, column by column: most columns are runs of the same few numbers. */
export function writeAttributes(columns: Columns, first: number, end: number): Uint8Array {
  const bytes = new ByteWriter((end - first) * 8);
  bytes.varint(end - first);
  let session = 0;
  for (let turn = first; turn < end; turn += 1) {
    bytes.signed(columns.session[turn]! - session);
    session = columns.session[turn]!;
  }
  for (let turn = first; turn < end; turn += 1) bytes.varint(columns.flags[turn]!);
  for (let turn = first; turn < end; turn += 1) bytes.byte(columns.length[turn]!);
  for (let turn = first; turn < end; turn += 1) bytes.varint(columns.speaker[turn]!);
  let atMs = 0;
  for (let turn = first; turn < end; turn += 1) {
    bytes.signed(columns.atMs[turn]! - atMs);
    atMs = columns.atMs[turn]!;
  }
  return bytes.take();
}

/** The inverse of `writeAttributes`: hands over each turn of the block in order. */
export function readAttributes(value: Uint8Array, take: (turn: Turn) => void): void {
  const bytes = new ByteReader(value);
  const count = bytes.varint();
  if (count > value.length) throw new IndexDamage('a block names more turns than it holds');
  const column = (read: () => number) => {
    const values = new Float64Array(count);
    for (let at = 0; at < count; at += 1) values[at] = read();
    return values;
  };
  const summed = () => {
    let sum = 0;
    return column(() => (sum += bytes.signed()));
  };
  const session = summed();
  const flags = column(() => bytes.varint());
  const length = column(() => bytes.byte());
  const speaker = column(() => bytes.varint());
  const atMs = summed();
  if (!bytes.done) throw new IndexDamage('a block goes on after its end');
  for (let at = 0; at < count; at += 1) {
    take({
      session: session[at]!,
      flags: flags[at]!,
      length: length[at]!,
      speaker: speaker[at]!,
      atMs: atMs[at]!,
    });
  }
}

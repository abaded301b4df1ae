/** Where the text of each turn lies: the record, its locator, and for a later passage of a long text its offset. */
import { ByteReader, ByteWriter } from './bytes.ts';

/** Turns of one page: what is read to show one hit. */
export const pageTurns = 256;

export interface Place {
  readonly record: number;
  readonly locator: string;
  /** Offset of the passage in the text of its record. */
  readonly start: number;
}

interface Last {
  record: number;
  end: number;
}

const numbers = /^(0|[1-9]\d{0,14}):(0|[1-9]\d{0,14})$/;
/** What each turn begins with; a later passage has its offset instead, above these. */
const dead = 0;
const ownRecord = 1;
const plainLocator = 0;

/**
 * Locators of the form offset:length, in rising order as in a log, take about three bytes.
 * @param places undefined for the dead; a later passage comes right after the turn whose record it shares.
 */
export function writePage(sessions: readonly number[], places: readonly (Place | undefined)[]): Uint8Array {
  const bytes = new ByteWriter(2_048);
  const lasts = new Map<number, Last>();
  for (const [at, place] of places.entries()) {
    if (place === undefined) {
      bytes.varint(dead);
      continue;
    }
    bytes.varint(ownRecord + place.start);
    // The first turn of a page may be a later passage; its record is then named like any other.
    if (place.start > 0 && at > 0) continue;
    const last = lastOf(lasts, sessions[at]!);
    bytes.signed(place.record - last.record);
    last.record = place.record;
    writeLocator(bytes, place.locator, last);
  }
  return bytes.take();
}

/** @returns a place for each turn; undefined for the dead. */
export function readPage(value: Uint8Array, sessions: readonly number[]): (Place | undefined)[] {
  const bytes = new ByteReader(value);
  const lasts = new Map<number, Last>();
  let previous: Place | undefined;
  return sessions.map((session, at) => {
    const tag = bytes.varint();
    if (tag === dead) return undefined;
    const start = tag - ownRecord;
    if (start > 0 && at > 0 && previous !== undefined) {
      const { record, locator } = previous;
      return { record, locator, start };
    }
    const last = lastOf(lasts, session);
    last.record += bytes.signed();
    previous = { record: last.record, locator: readLocator(bytes, last), start };
    return previous;
  });
}

function writeLocator(bytes: ByteWriter, locator: string, last: Last): void {
  const pair = numbers.exec(locator);
  if (pair === null) {
    bytes.varint(plainLocator);
    bytes.string(locator);
    return;
  }
  const [offset, length] = [Number(pair[1]), Number(pair[2])];
  const gap = offset - last.end;
  bytes.varint((gap < 0 ? -gap * 2 - 1 : gap * 2) + 1);
  bytes.varint(length);
  last.end = offset + length;
}

function readLocator(bytes: ByteReader, last: Last): string {
  const tag = bytes.varint();
  if (tag === plainLocator) return bytes.string();
  const zigzag = tag - 1;
  const offset = last.end + (zigzag % 2 === 1 ? -(zigzag + 1) / 2 : zigzag / 2);
  const length = bytes.varint();
  last.end = offset + length;
  return `${offset}:${length}`;
}

function lastOf(lasts: Map<number, Last>, session: number): Last {
  let last = lasts.get(session);
  if (last === undefined) lasts.set(session, (last = { record: 0, end: 0 }));
  return last;
}

/**
 * Every key of the recall index; nothing else builds one.
 *
 *   key                      value                                              written
 *   a<block>                 attributes of 4,096 turns, column by column        when the block is sealed
 *   c<key>                   the caller's progress                              with each append
 *   d<page>                  where the texts of 256 turns lie                   when the block is sealed
 *   m<name>                  format, segments, forgetting to finish                with what it describes
 *   n<name>                  a speaker's name                                   once
 *   s<session>               a session: kind, id, origin, start                 once
 *   t<segment><term>         postings of a term in a segment                    when a segment is sealed or merged
 *   v<segment>               the words of a segment, with their counts          likewise
 *   w<block>                 what the turns of a block mean, packed             when the block is sealed
 *   x<turn>                  a turn that is in no block yet, with its terms     with each append
 *
 * Numbers are written in a base of which the digits sort as ASCII does, so keys sort as the numbers do.
 * A segment's keys lie together: it is written once, read by point, and dropped as a range.
 */

const digits = '-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz';
const base = digits.length;
const segmentDigits = 4;
const numberDigits = 6;

export const metaNames = { format: 'format', manifest: 'manifest', forgot: 'forgot' } as const;

export const keys = {
  attributes: (block: number) => `a${sortable(block, numberDigits)}`,
  progress: (key: string) => `c${key}`,
  page: (page: number) => `d${sortable(page, numberDigits)}`,
  meta: (name: keyof typeof metaNames) => `m${name}`,
  name: (name: number) => `n${sortable(name, numberDigits)}`,
  session: (session: number) => `s${sortable(session, numberDigits)}`,
  postings: (segment: number, term: string) => `t${sortable(segment, segmentDigits)}${term}`,
  words: (segment: number) => `v${sortable(segment, segmentDigits)}`,
  meanings: (block: number) => `w${sortable(block, numberDigits)}`,
  turn: (turn: number) => `x${sortable(turn, numberDigits)}`,
};

/** For what the engine does to all keys together. */
export const wholeRange = { start: '', end: '\u{10ffff}' };

export interface KeyRange {
  readonly gte: string;
  readonly lt: string;
}

export const ranges = {
  attributes: prefixed('a'),
  pages: prefixed('d'),
  names: prefixed('n'),
  sessions: prefixed('s'),
  allPostings: prefixed('t'),
  meanings: prefixed('w'),
  turns: prefixed('x'),
  progress: (prefix: string): KeyRange => ({ gte: `c${prefix}`, lt: after(`c${prefix}`) }),
  postings: (segment: number): KeyRange => ({
    gte: `t${sortable(segment, segmentDigits)}`,
    lt: `t${sortable(segment + 1, segmentDigits)}`,
  }),
};

export function termOfKey(key: string): string {
  return key.slice(1 + segmentDigits);
}

export function segmentOfKey(key: string): number {
  return numberOf(key.slice(1, 1 + segmentDigits));
}

export function numberOfKey(key: string): number {
  return numberOf(key.slice(1));
}

export function progressOfKey(key: string): string {
  return key.slice(1);
}

function prefixed(prefix: string): KeyRange {
  return { gte: prefix, lt: after(prefix) };
}

/** The first key that does not begin with the prefix: an astral character sorts above every other. */
function after(prefix: string): string {
  return `${prefix}\u{10ffff}`;
}

function sortable(value: number, width: number): string {
  let text = '';
  let rest = value;
  for (let place = 0; place < width; place += 1) {
    text = digits[rest % base]! + text;
    rest = Math.floor(rest / base);
  }
  return text;
}

function numberOf(text: string): number {
  let value = 0;
  for (const digit of text) value = value * base + digits.indexOf(digit);
  return value;
}

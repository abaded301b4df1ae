/** One page of a listing: bounded by records and by bytes, with a cursor that goes on from there. */
import { ParamsError } from '../../../shared/params-error.ts';
import type { Range } from '../store/engine.ts';
import type { KeyRange } from './keys.ts';
import { pagesOf } from './read-each.ts';
import type { RecordEntry, RecordStore } from './records.ts';

type Order = 'asc' | 'desc';

/** What a listing says of an entry that it cannot read. */
export const unreadable = Symbol('unreadable');

interface Listing {
  readonly range: KeyRange;
  readonly order?: Order | undefined;
  readonly cursor?: string | undefined;
  readonly limit: number;
  /** The entry as JSON text; undefined where it does not belong to the listing. */
  readonly render: (entry: RecordEntry) => string | undefined | typeof unreadable;
  /** Not every entry of the range belongs to the listing. */
  readonly passesOver?: boolean;
}

export interface Page {
  /** Entries as JSON text. */
  readonly entries: string[];
  /** Keys of what could not be read. */
  readonly damaged: string[];
  readonly next?: string;
}

const replyBytesMax = 1024 * 1024;
/** Room for the frame of the reply and its cursor. */
const frameBytes = 16 * 1024;
const pageBytesMax = replyBytesMax - frameBytes;
/** Quotes and comma of an entry. */
const separatorBytes = 3;
/** A listing that passes over entries looks at no more than these for a page. */
const examinedMax = 10_000;

/** A page holds at least one entry if there is one, however large. @throws ParamsError where the cursor is not ours */
export async function pageOf(store: RecordStore, listing: Listing): Promise<Page> {
  const { order = 'asc', limit, render } = listing;
  const page: Page = { entries: [], damaged: [] };
  let bytes = 0;
  let examined = 0;
  let last: string | undefined;
  for await (const entries of pagesOf(store, listing.range, boundsOf(listing, order))) {
    for (const entry of entries) {
      const text = render(entry);
      const size = text === undefined ? 0 : sizeOf(text === unreadable ? entry.key : text);
      const count = page.entries.length + page.damaged.length;
      const isFull =
        count === limit || examined === examinedMax || (count > 0 && bytes + size > pageBytesMax);
      // What is said of the range as a whole comes last and has no place of its own to go on from.
      const isOfRange = entry.key === listing.range.gte;
      if (isFull && last !== undefined && !isOfRange) return { ...page, next: cursorOf(order, last) };
      if (text === unreadable) page.damaged.push(entry.key);
      else if (text !== undefined) page.entries.push(text);
      bytes += size;
      examined += 1;
      last = entry.key;
    }
  }
  return page;
}

/** The members of a reply that lists, as JSON text. */
export function pageJson(name: string, { entries, damaged, next }: Page): string {
  // Added up rather than joined: the text then is copied once, when it is sent.
  let json = `{"${name}":[`;
  for (const [at, entry] of entries.entries()) json += at === 0 ? entry : `,${entry}`;
  json += ']';
  if (damaged.length > 0) json += `,"damaged":${JSON.stringify(damaged)}`;
  if (next !== undefined) json += `,"next":"${next}"`;
  return `${json}}`;
}

function sizeOf(text: string): number {
  return Buffer.byteLength(text) + separatorBytes;
}

function boundsOf({ range: { gte, lt }, cursor, limit, passesOver }: Listing, order: Order): Range {
  const last = cursor === undefined ? undefined : keyOfCursor(cursor, order, { gte, lt });
  // One more than is wanted tells whether there is more.
  const some = passesOver === true ? {} : { limit: limit + 1 };
  if (order === 'desc') return { gte, lt: last ?? lt, reverse: true, ...some };
  return { ...(last === undefined ? { gte } : { gt: last }), lt, ...some };
}

function cursorOf(order: Order, key: string): string {
  return Buffer.from(`${order} ${key}`).toString('base64url');
}

/** The key that a page ended with. A cursor of another listing is refused, since it would skip what it never saw. */
function keyOfCursor(cursor: string, order: Order, { gte, lt }: KeyRange): string {
  const key = Buffer.from(cursor, 'base64url')
    .toString()
    .slice(order.length + 1);
  const bytes = Buffer.from(key);
  const isWithin = bytes.compare(Buffer.from(gte)) >= 0 && bytes.compare(Buffer.from(lt)) < 0;
  if (isWithin && cursorOf(order, key) === cursor) return key;
  throw new ParamsError('cursor', 'cursor is not one that this listing gave', cursor);
}

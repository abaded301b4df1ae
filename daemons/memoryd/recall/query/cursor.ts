/** Where a listing goes on: the place in it, and how many turns the index had when it began, so that new ones shift nothing. */
import { createHash } from 'node:crypto';
import { ParamsError } from '../../../../shared/params-error.ts';
import type { RecallParams } from '../../../../shared/protocol/memoryd.ts';

export interface Page {
  readonly offset: number;
  /** Turns from here on came later and are left out. */
  readonly turns: number;
}

/** Nobody reads further; whoever wants everything lists by time windows. */
export const offsetMax = 10_000;

export function pageOf(params: RecallParams, turns: number): Page {
  if (params.cursor === undefined) return { offset: 0, turns };
  const [digest, offset, known, ...rest] = Buffer.from(params.cursor, 'base64url')
    .toString('utf8')
    .split(' ');
  const page = { offset: Number(offset), turns: Number(known) };
  const isValid =
    rest.length === 0 &&
    digest === digestOf(params) &&
    Number.isSafeInteger(page.offset) &&
    Number.isSafeInteger(page.turns) &&
    page.offset >= 0 &&
    page.offset <= offsetMax &&
    page.turns >= 0;
  if (!isValid)
    throw new ParamsError('cursor', 'cursor must be the `next` of the same request', params.cursor);
  return { offset: page.offset, turns: Math.min(page.turns, turns) };
}

export function cursorOf(params: RecallParams, { offset, turns }: Page): string {
  return Buffer.from(`${digestOf(params)} ${offset} ${turns}`).toString('base64url');
}

/** What decides the order of the hits; how many and how much of them is shown may differ from page to page. */
function digestOf({ query, since, until, session, exclude_session, sources, order }: RecallParams): string {
  const decisive = JSON.stringify([
    query,
    since,
    until,
    session,
    exclude_session,
    sources?.toSorted(),
    order,
  ]);
  return createHash('sha256').update(decisive).digest('base64url').slice(0, 16);
}

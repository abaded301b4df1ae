/** The one rule for what text may be an entry, for every way in: tool, batch, import, and a hand edit that is reported. */
import { AppError } from '../../../shared/errors.ts';

type BreachReason = 'empty' | 'invisible' | 'control' | 'bidi' | 'line-separator';

/** What breaks the rule, and where: `offset` counts the code points before it. */
export interface Breach {
  readonly reason: BreachReason;
  readonly codepoint?: string;
  readonly offset?: number;
}

/*
 * TAB and LF are text. CR never gets here: `normalizeEntry` reads it as a line end. Joiners (U+200C, U+200D) and
 * marks (U+200E, U+200F) belong to scripts and emoji; only what reorders its surroundings is refused.
 */
const forbidden = /(?![\t\n])\p{Cc}|[\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;
const forbiddenEach = new RegExp(forbidden.source, 'gu');

/** Nothing here leaves a mark on a screen: white space, default ignorables, annotation marks, the blank Braille cell. */
const invisible = /^[\s\p{White_Space}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb\u2800]*$/u;

const names: Readonly<Record<BreachReason, string>> = {
  empty: 'an entry needs text',
  invisible: 'an entry needs text that can be seen',
  control: 'a control character',
  bidi: 'a character that reorders the text around it',
  'line-separator': 'a line separator that editors and models read differently',
};

/** LF line ends, well-formed, outer blanks trimmed: what an entry is stored and compared as. */
export function normalizeEntry(text: string): string {
  return withLineFeeds(text).trim();
}

function withLineFeeds(text: string): string {
  return text.toWellFormed().replace(/\r\n?/g, '\n');
}

/** What about this text breaks the rule; undefined when it may be an entry. Outer characters count too. */
export function breachOf(text: string): Breach | undefined {
  const found = forbidden.exec(withLineFeeds(text));
  if (found) {
    const [character] = found;
    return {
      reason: reasonOf(character),
      codepoint: codePointName(character),
      offset: codePoints(withLineFeeds(text).slice(0, found.index)),
    };
  }
  if (normalizeEntry(text) === '') return { reason: 'empty' };
  return invisible.test(text) ? { reason: 'invisible' } : undefined;
}

/**
 * The text as it is stored.
 * @throws AppError memory-refused, naming what breaks the rule and where.
 */
export function acceptEntry(text: string, where: Record<string, unknown> = {}): string {
  const breach = breachOf(text);
  if (breach) {
    throw new AppError('memory-refused', `refused text: ${describeBreach(breach)}`, {
      details: { ...breach, ...where },
    });
  }
  return normalizeEntry(text);
}

export function describeBreach({ reason, codepoint, offset }: Breach): string {
  if (codepoint === undefined) return names[reason];
  return `${codepoint} at character ${offset}, ${names[reason]}`;
}

/** The same text with whatever breaks the rule shown as an escape, so that it can be seen and does nothing. */
export function showHarmless(text: string): string {
  if (text !== '' && invisible.test(text)) return Array.from(text, escapeOf).join('');
  return text.replace(forbiddenEach, escapeOf);
}

export function codePoints(text: string): number {
  let count = text.length;
  for (let at = 0; at + 1 < text.length; at += 1) {
    if ((text.charCodeAt(at) & 0xfc00) === 0xd800 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00) {
      count -= 1;
      at += 1;
    }
  }
  return count;
}

function reasonOf(character: string): BreachReason {
  const code = character.codePointAt(0) ?? 0;
  if (code === 0x85 || code === 0x2028 || code === 0x2029) return 'line-separator';
  return code < 0xa0 ? 'control' : 'bidi';
}

function codePointName(character: string): string {
  return `U+${hexOf(character)}`;
}

function escapeOf(character: string): string {
  const hex = hexOf(character);
  return hex.length > 4 ? `\\u{${hex}}` : `\\u${hex}`;
}

function hexOf(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
}

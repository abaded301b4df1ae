/** A time named in a query, and how near a turn's own time is to it: for ranking only, never a filter. */
import { weights } from './weights.ts';

const dayMs = 24 * 60 * 60 * 1000;

export interface DateHint {
  readonly year?: number;
  /** 0..11 */
  readonly month?: number;
  readonly day?: number;
}

const monthNames = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const month =
  'jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?';
const day = '(\\d{1,2})(?:st|nd|rd|th)?';
const year = '((?:19|20)\\d\\d)';
const iso = new RegExp(`\\b${year}-(\\d\\d)(?:-(\\d\\d))?\\b`);
const dayFirst = new RegExp(`\\b${day}(?: of)? (${month})\\b\\.?(?:,? ${year})?`, 'i');
const monthFirst = new RegExp(`\\b(${month})\\.? ${day}\\b(?:,? ${year})?`, 'i');
const monthAndYear = new RegExp(`\\b(${month})\\.?,? (?:of )?${year}\\b`, 'i');
const monthAlone = new RegExp(
  `\\b(?:in|of|during|since|until|by|last|this|early|late|mid|end of|beginning of)[ -](${month})\\b`,
  'i',
);
/** Also without a preposition where the name can be nothing else. */
const plainMonth = /\b(January|February|April|June|July|August|September|October|November|December)\b/;
const yearAlone = new RegExp(`\\b${year}\\b`);

/** @param now local time of the device, as a UTC date. */
export function dateHintOf(query: string, now: Date): DateHint | undefined {
  return isoHint(query) ?? namedHint(query) ?? relativeHint(query, now);
}

function isoHint(query: string): DateHint | undefined {
  const found = iso.exec(query);
  if (found === null) return undefined;
  const hint = { year: Number(found[1]), month: Number(found[2]) - 1 };
  if (hint.month < 0 || hint.month > 11) return undefined;
  return found[3] === undefined ? hint : { ...hint, day: Number(found[3]) };
}

function namedHint(query: string): DateHint | undefined {
  const first = dayFirst.exec(query);
  if (first !== null) return hintOf(first[2]!, first[1], first[3]);
  const second = monthFirst.exec(query);
  if (second !== null) return hintOf(second[1]!, second[2], second[3]);
  const third = monthAndYear.exec(query);
  if (third !== null) return hintOf(third[1]!, undefined, third[2]);
  const fourth = monthAlone.exec(query) ?? plainMonth.exec(query);
  if (fourth !== null) return hintOf(fourth[1]!, undefined, yearAlone.exec(query)?.[1]);
  const fifth = yearAlone.exec(query);
  return fifth === null ? undefined : { year: Number(fifth[1]) };
}

function hintOf(monthName: string, day: string | undefined, year: string | undefined): DateHint {
  return {
    month: monthNames.indexOf(monthName.slice(0, 3).toLowerCase()),
    ...(day === undefined ? {} : { day: Number(day) }),
    ...(year === undefined ? {} : { year: Number(year) }),
  };
}

const counts: Record<string, number> = { a: 1, an: 1, one: 1, two: 2, three: 3, four: 4, five: 5, six: 6 };

function relativeHint(query: string, now: Date): DateHint | undefined {
  const back = (days: number): DateHint => partsOf(now.getTime() - days * dayMs);
  if (/\btoday\b|\bthis morning\b|\btonight\b/i.test(query)) return back(0);
  if (/\byesterday\b|\blast night\b/i.test(query)) return back(1);
  const ago = /\b(\d{1,3}|an?|one|two|three|four|five|six) (day|week|month|year)s? ago\b/i.exec(query);
  if (ago !== null) {
    const count = counts[ago[1]!.toLowerCase()] ?? Number(ago[1]);
    const unit = ago[2]!.toLowerCase();
    if (unit === 'day') return back(count);
    if (unit === 'week') return back(count * 7);
    const then = new Date(now);
    if (unit === 'month') then.setUTCMonth(now.getUTCMonth() - count, 1);
    else return { year: now.getUTCFullYear() - count };
    return { year: then.getUTCFullYear(), month: then.getUTCMonth() };
  }
  if (/\blast week\b/i.test(query)) return back(7);
  if (/\blast month\b/i.test(query)) {
    const then = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 1));
    return { year: then.getUTCFullYear(), month: then.getUTCMonth() };
  }
  return /\blast year\b/i.test(query) ? { year: now.getUTCFullYear() - 1 } : undefined;
}

function partsOf(ms: number): DateHint {
  const date = new Date(ms);
  return { year: date.getUTCFullYear(), month: date.getUTCMonth(), day: date.getUTCDate() };
}

/** 0..1: how near a local time, as UTC milliseconds, is to the hint. A year that is not named is taken as equal. */
export function dateNearness(hint: DateHint, localMs: number): number {
  const date = new Date(localMs);
  if (hint.month === undefined) return hint.year === date.getUTCFullYear() ? weights.yearOnly : 0;
  if (hint.day !== undefined) return dayNearness(hint, date);
  let months = date.getUTCMonth() - hint.month;
  if (hint.year !== undefined) months += (date.getUTCFullYear() - hint.year) * 12;
  else if (months === -11) months = 1;
  else if (months === 11) months = -1;
  if (months === 0) return 1;
  if (months === 1) return weights.monthAfter;
  return months === -1 ? weights.monthBefore : 0;
}

function dayNearness({ year, month, day }: DateHint, date: Date): number {
  const named = Date.UTC(year ?? date.getUTCFullYear(), month, day);
  const days = Math.floor((date.getTime() - named) / dayMs);
  return days >= 0 ? Math.exp(-days / weights.dayAfterDays) : Math.exp(days / weights.dayBeforeDays);
}

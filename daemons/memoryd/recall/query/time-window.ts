/** `since` and `until` of a request as two moments: strict, half-open, local dates as whole days of the device. */
import { ParamsError } from '../../../../shared/params-error.ts';
import { startOfDayMs, startOfNextDayMs } from './local-day.ts';

export interface TimeWindow {
  /** Included. */
  readonly sinceMs: number;
  /** Excluded. */
  readonly untilMs: number;
}

const date = /^(\d{4})-(\d\d)-(\d\d)$/;
const moment = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d):(\d\d):(\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;

/** @throws ParamsError naming the field that is neither a local date nor RFC 3339. */
export function timeWindowOf(
  { since, until }: { since?: string; until?: string },
  timeZone: string,
): TimeWindow {
  return {
    sinceMs:
      since === undefined
        ? -Infinity
        : (dayMs('since', since, (day) => startOfDayMs(timeZone, day)) ?? momentMs('since', since)),
    untilMs:
      until === undefined
        ? Infinity
        : (dayMs('until', until, (day) => startOfNextDayMs(timeZone, day)) ?? momentMs('until', until)),
  };
}

function dayMs(field: string, value: string, edge: (utcMidnightMs: number) => number): number | undefined {
  if (!date.test(value)) return undefined;
  const utcMidnightMs = Date.parse(`${value}T00:00:00Z`);
  if (!isCalendarDay(value, utcMidnightMs)) throw refusal(field, value);
  return edge(utcMidnightMs);
}

function momentMs(field: string, value: string): number {
  const parts = moment.exec(value);
  if (parts === null) throw refusal(field, value);
  const [, day, hour, minute, second, fraction = '', zone] = parts;
  if (!isCalendarDay(day!, Date.parse(`${day}T00:00:00Z`))) throw refusal(field, value);
  // A leap second is the last one of its minute.
  const seconds = second === '60' ? '59' : second;
  const ms = Date.parse(`${day}T${hour}:${minute}:${seconds}${fraction.slice(0, 4)}${zone!.toUpperCase()}`);
  if (Number.isNaN(ms)) throw refusal(field, value);
  return ms;
}

/** Date.parse takes the 30th of February for the 2nd of March. */
function isCalendarDay(day: string, utcMidnightMs: number): boolean {
  return !Number.isNaN(utcMidnightMs) && new Date(utcMidnightMs).toISOString().startsWith(day);
}

function refusal(field: string, value: string): ParamsError {
  return new ParamsError(
    field,
    `${field} must be RFC 3339 (2026-11-30T08:00:00Z) or a local date (2026-11-30)`,
    value,
  );
}

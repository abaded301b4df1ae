/** The device's calendar: where a local day begins, on days of 23 and 25 hours too. */

const dayMs = 24 * 60 * 60 * 1000;
const formatters = new Map<string, Intl.DateTimeFormat>();

/** How far local time is ahead of UTC at a moment. */
export function zoneOffsetMs(timeZone: string, ms: number): number {
  const parts = new Map<string, number>(
    formatterOf(timeZone)
      .formatToParts(ms)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const part = (type: string) => parts.get(type) ?? 0;
  const local = new Date(0);
  local.setUTCFullYear(part('year'), part('month') - 1, part('day'));
  local.setUTCHours(part('hour'), part('minute'), part('second'));
  return local.getTime() - Math.floor(ms / 1000) * 1000;
}

/** The first moment of a local day. @param utcMidnightMs the day as if the zone were UTC. */
export function startOfDayMs(timeZone: string, utcMidnightMs: number): number {
  // One of the two offsets around midnight is right, also where the clock jumps at midnight itself.
  const starts = [utcMidnightMs - dayMs / 2, utcMidnightMs + dayMs / 2].map(
    (near) => utcMidnightMs - zoneOffsetMs(timeZone, near),
  );
  const dayOf = (ms: number) => Math.floor((ms + zoneOffsetMs(timeZone, ms)) / dayMs) * dayMs;
  const isStart = (ms: number) => dayOf(ms) === utcMidnightMs && dayOf(ms - 1) < utcMidnightMs;
  return starts.toSorted((one, other) => one - other).find(isStart) ?? starts[0]!;
}

export function startOfNextDayMs(timeZone: string, utcMidnightMs: number): number {
  return startOfDayMs(timeZone, utcMidnightMs + dayMs);
}

/** @param timeZone empty: the zone of the system. The first one takes 8 MB of memory, so it is made when a query needs it. */
function formatterOf(timeZone: string): Intl.DateTimeFormat {
  let formatter = formatters.get(timeZone);
  if (formatter === undefined) {
    formatter = new Intl.DateTimeFormat('en-US', {
      ...(timeZone === '' ? {} : { timeZone }),
      hourCycle: 'h23',
      calendar: 'gregory',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    });
    formatters.set(timeZone, formatter);
  }
  return formatter;
}

/** clock: the date, time and zone of the device. */
import type { Tool } from './tool.ts';

export interface ClockOptions {
  readonly nowMs: () => number;
  /** An IANA name; the device's own where it is absent. */
  readonly zone?: string;
}

const timeoutMs = 1_000;

export function clockTool({ nowMs, zone }: ClockOptions): Tool {
  return {
    definition: {
      type: 'function',
      function: {
        name: 'clock',
        description: 'The current date, weekday, time and time zone.',
        parameters: { type: 'object', properties: {} },
      },
    },
    effects: 'none',
    isVolatile: true,
    timeoutMs,
    run: async () => ({ status: 'ok', text: clockText(nowMs(), zone) }),
  };
}

/** `2026-11-30 14:05:09 Monday, Europe/Berlin (UTC+01:00); 2026-11-30T13:05:09Z` */
export function clockText(atMs: number, zone?: string): string {
  const { timeZone } = new Intl.DateTimeFormat(
    'en',
    zone === undefined ? {} : { timeZone: zone },
  ).resolvedOptions();
  const parts = partsOf(atMs, timeZone);
  const utc = new Date(atMs).toISOString().replace(/\.\d+Z$/, 'Z');
  const local = `${parts.year}-${parts.month}-${parts.day} ${parts.hour}:${parts.minute}:${parts.second}`;
  return `${local} ${parts.weekday}, ${timeZone} (UTC${offsetOf(parts, atMs)}); ${utc}`;
}

/** Date and minute on the device, as recall results show them: `2026-11-30 14:05`. */
export function localMinute(at: string): string {
  const atMs = Date.parse(at);
  if (Number.isNaN(atMs)) return at;
  const { year, month, day, hour, minute } = partsOf(atMs);
  return `${year}-${month}-${day} ${hour}:${minute}`;
}

type Parts = Record<'year' | 'month' | 'day' | 'hour' | 'minute' | 'second' | 'weekday', string>;

function partsOf(atMs: number, timeZone?: string): Parts {
  const format = new Intl.DateTimeFormat('en-GB', {
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    weekday: 'long',
    hourCycle: 'h23',
    ...(timeZone === undefined ? {} : { timeZone }),
  });
  return Object.fromEntries(format.formatToParts(atMs).map(({ type, value }) => [type, value])) as Parts;
}

const msPerMinute = 60_000;
const minutesPerHour = 60;

/** `+05:30`, from the difference between the wall clock and UTC at that instant. */
function offsetOf({ year, month, day, hour, minute, second }: Parts, atMs: number): string {
  const wallMs = Date.UTC(
    Number(year),
    Number(month) - 1,
    Number(day),
    Number(hour),
    Number(minute),
    Number(second),
  );
  const minutes = Math.round((wallMs - Math.floor(atMs / 1000) * 1000) / msPerMinute);
  const twoDigits = (value: number) => String(value).padStart(2, '0');
  const absolute = Math.abs(minutes);
  const sign = minutes < 0 ? '-' : '+';
  return `${sign}${twoDigits(Math.floor(absolute / minutesPerHour))}:${twoDigits(absolute % minutesPerHour)}`;
}

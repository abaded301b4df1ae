/** Reading fields of JSON that others wrote: what is not of the asked type is absent. */

export type Fields = Readonly<Record<string, unknown>>;

export function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** @returns undefined for what is no string, and for a blank one. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}

/** A time as exports write it: seconds since the epoch, or RFC 3339. */
export function timeMsOf(value: unknown): number | undefined {
  const ms =
    typeof value === 'number' ? value * 1000 : typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isFinite(ms) && Math.abs(ms) <= dateMsMax ? Math.round(ms) : undefined;
}

const dateMsMax = 8.64e15;

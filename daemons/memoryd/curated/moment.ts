/** A moment as people give it: RFC 3339, or a local date, which means the end of that day. */
import { ParamsError } from '../../../shared/params-error.ts';

const date = /^(\d{4})-(\d{2})-(\d{2})$/;
const time = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:[Zz]|[+-]\d{2}:\d{2})$/;

/** Milliseconds since the epoch. @throws ParamsError */
export function momentOf(text: string): number {
  const [, year, month, day] = date.exec(text) ?? [];
  if (year !== undefined && month !== undefined && day !== undefined) {
    const start = new Date(Number(year), Number(month) - 1, Number(day));
    const next = new Date(Number(year), Number(month) - 1, Number(day) + 1);
    if (start.getMonth() === Number(month) - 1 && start.getDate() === Number(day)) return next.getTime() - 1;
  }
  const ms = time.test(text) ? Date.parse(text) : Number.NaN;
  // Date.parse takes the 31st of any month for the 1st of the next.
  const [, , dayText = ''] = /^\d{4}-(\d{2})-(\d{2})/.exec(text) ?? [];
  const isDay = new Date(`${text.slice(0, 10)}T00:00:00Z`).getUTCDate() === Number(dayText);
  if (Number.isNaN(ms) || !isDay) throw new ParamsError('at', 'at is no RFC 3339 time and no date', text);
  return ms;
}

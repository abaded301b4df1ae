/** Whether a text says another one, for forgetting: the same letters in any case, width and spacing. */

export type Matcher = (text: string) => boolean;

/** @returns undefined where there is nothing to look for. */
export function matcherOf(wanted: string): Matcher | undefined {
  const folded = fold(wanted).trim();
  return folded === '' ? undefined : (text) => fold(text).includes(folded);
}

/** Whether any string in a JSON value matches, names of fields left out. */
export function saysIn(value: unknown, matches: Matcher): boolean {
  const rest: unknown[] = [value];
  for (let next = rest.pop(); rest.length > 0 || next !== undefined; next = rest.pop()) {
    if (typeof next === 'string') {
      if (matches(next)) return true;
    } else if (typeof next === 'object' && next !== null) rest.push(...Object.values(next));
  }
  return false;
}

function fold(text: string): string {
  return text.normalize('NFKC').toLowerCase().replaceAll(/\s+/g, ' ');
}

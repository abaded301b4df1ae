/** The order of keys in the engine: by UTF-8 bytes, which is by code points, which is not how JavaScript compares strings. */

const surrogatesFrom = 0xd800;
const afterSurrogates = 0xe000;

export function compareKeys(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at += 1) {
    const [a, b] = [one.charCodeAt(at), other.charCodeAt(at)];
    if (a === b) continue;
    if (a >= surrogatesFrom && b >= surrogatesFrom) return rank(a) - rank(b);
    return a - b;
  }
  return one.length - other.length;
}

/** Halves of pairs stand for code points above all others. */
function rank(unit: number): number {
  return unit >= afterSurrogates ? unit - afterSurrogates : unit + afterSurrogates;
}

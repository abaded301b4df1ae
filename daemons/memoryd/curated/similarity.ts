/** How alike two texts are, by the trigrams that they share: for near matches and near-duplicates. */

/** Both texts are looked at up to here: likeness of the beginnings is enough to point at an entry. */
const lengthMax = 2000;
/** A file with more entries than this was not written by hand or by us; the first ones are looked at. */
const entriesMax = 1000;
const nearestMax = 3;
/** From here on two entries most likely say the same thing. */
const duplicateMin = 0.72;

type Grams = ReadonlyMap<string, number>;

/** 0 for nothing in common, 1 for the same text but for case and spacing (Dice's coefficient over trigrams). */
export function likeness(left: string, right: string): number {
  return likenessOf(gramsOf(left), gramsOf(right));
}

/** The same, or how much of the shorter one is in the longer, whichever is more: for a text that grew or was cut. */
export function kinship(left: string, right: string): number {
  const [a, b] = [gramsOf(left), gramsOf(right)];
  return Math.max(likenessOf(a, b), containment(total(a) < total(b) ? a : b, total(a) < total(b) ? b : a));
}

/** The entries most like a text, best first; never empty where there are entries. */
export function nearestTo(text: string, entries: readonly string[]): string[] {
  const wanted = gramsOf(text);
  const scored = [...new Set(entries.slice(0, entriesMax))].map((entry) => {
    const grams = gramsOf(entry);
    return { entry, score: Math.max(likenessOf(wanted, grams), containment(wanted, grams) * 0.9) };
  });
  scored.sort((left, right) => right.score - left.score);
  const best = scored[0]?.score ?? 0;
  return scored
    .filter(({ score }, at) => at === 0 || (score > 0.15 && score >= best / 2))
    .slice(0, nearestMax)
    .map(({ entry }) => entry);
}

/** For each entry the index of an earlier one that says nearly the same. */
export function nearDuplicates(entries: readonly string[]): (number | undefined)[] {
  const grams = entries.slice(0, entriesMax).map(gramsOf);
  return entries.map((_, at) => {
    const own = grams[at];
    if (!own) return undefined;
    const found = grams.slice(0, at).findIndex((earlier) => likenessOf(own, earlier) >= duplicateMin);
    return found < 0 ? undefined : found;
  });
}

function gramsOf(text: string): Grams {
  const folded = ` ${text
    .slice(0, lengthMax)
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[\s\p{P}]+/gu, ' ')
    .trim()} `;
  const characters = Array.from(folded);
  const grams = new Map<string, number>();
  // Texts of a character or two have no trigram of their own but the padding's.
  for (let at = 0; at + 3 <= Math.max(3, characters.length); at += 1) {
    const gram = characters.slice(at, at + 3).join('');
    grams.set(gram, (grams.get(gram) ?? 0) + 1);
  }
  return grams;
}

function likenessOf(left: Grams, right: Grams): number {
  return (2 * shared(left, right)) / (total(left) + total(right));
}

/** How much of `part` is in `whole`: a fragment with a typo should still find its entry. */
function containment(part: Grams, whole: Grams): number {
  return shared(part, whole) / total(part);
}

function shared(left: Grams, right: Grams): number {
  let count = 0;
  for (const [gram, times] of left) count += Math.min(times, right.get(gram) ?? 0);
  return count;
}

function total(grams: Grams): number {
  let count = 0;
  for (const times of grams.values()) count += times;
  return count;
}

/** The part of a text that is shown for a match: around it, cut where a reader sees characters, at words where possible. */

export interface Excerpt {
  readonly text: string;
  readonly isCut: boolean;
}

/** A cut moves at most so far to fall between words. */
const wordSlackMax = 24;
/** Characters looked at to find the edges of what a reader sees as one; the longest emoji in use has 35. */
const graphemeCharsMax = 64;
let segmenter: Intl.Segmenter | undefined;

/** Made at the first cut: it takes memory that a device at rest need not spend. */
function graphemesOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  return segmenter.segment(text);
}

export function excerpt(
  text: string,
  { charsMax, focus }: { charsMax: number; focus: readonly { at: number; weight: number }[] },
): Excerpt {
  if (text.length <= charsMax) return { text, isCut: false };
  const centre = heaviest(focus, charsMax);
  const start = Math.max(0, Math.min(centre - Math.floor(charsMax / 2), text.length - charsMax));
  const from = start === 0 ? 0 : edgeAfter(text, start);
  const to = edgeBefore(text, Math.min(text.length, start + charsMax), from);
  const part = text.slice(from, to);
  return { text: part === '' ? firstPoint(text, start, charsMax) : part, isCut: true };
}

/** The middle of the stretch of at most `charsMax` that has the most weight. */
function heaviest(focus: readonly { at: number; weight: number }[], charsMax: number): number {
  let best = focus[0]?.at ?? 0;
  let bestWeight = -1;
  let weight = 0;
  let first = 0;
  for (const [last, point] of focus.entries()) {
    weight += point.weight;
    while (point.at - focus[first]!.at > charsMax) {
      weight -= focus[first]!.weight;
      first += 1;
    }
    if (weight > bestWeight) {
      bestWeight = weight;
      best = Math.floor((focus[first]!.at + point.at) / 2);
    }
    void last;
  }
  return best;
}

/** The first place from `at` on where a character begins; a word's beginning if one is near. */
function edgeAfter(text: string, at: number): number {
  const space = text.slice(at - 1, at + wordSlackMax).search(/\s\S/u);
  if (space >= 0) return at + space;
  const from = pointAt(text, Math.max(0, at - graphemeCharsMax));
  const local = text.slice(from, at + graphemeCharsMax);
  for (const { index } of graphemesOf(local)) if (from + index >= at) return from + index;
  return pointAt(text, at) === at ? at : at + 1;
}

/** The last place up to `at` where a character ends, above `from`. */
function edgeBefore(text: string, at: number, from: number): number {
  if (at >= text.length) return text.length;
  const slack = Math.min(wordSlackMax, Math.floor((at - from) / 4));
  const space = /\S(?=\s\S*$)/u.exec(text.slice(at - slack, at + 1));
  if (slack > 0 && space !== null) return at - slack + space.index + space[0].length;
  const start = Math.max(from, pointAt(text, at - graphemeCharsMax));
  let edge = start;
  for (const { index } of graphemesOf(text.slice(start, at + graphemeCharsMax))) {
    if (start + index > at) break;
    edge = start + index;
  }
  return edge;
}

/** Where not even one whole character fits: as many code points as do, at least one. */
function firstPoint(text: string, at: number, charsMax: number): string {
  const from = pointAt(text, at);
  let part = '';
  for (const point of text.slice(from, pointAt(text, from + charsMax + 2))) {
    if (part !== '' && part.length + point.length > charsMax) break;
    part += point;
  }
  return part;
}

/** The beginning of the code point at a place. */
function pointAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff ? at - 1 : at;
}

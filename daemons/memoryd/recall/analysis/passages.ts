/** Cuts a long text into passages, so that a match in it can be found and shown where it is. */
import { fold } from './fold.ts';
import { originalOffset, tokensOf, type Token } from './analyse.ts';

export interface Passage {
  /** Offset in the original text. */
  readonly start: number;
  readonly text: string;
  readonly tokens: readonly Token[];
}

/** Texts of up to this many terms stay whole; chat turns nearly all do. */
const wholeTermsMax = 120;
/** A passage ends at the first good place after this many terms, and anywhere at the maximum. */
const passageTermsMin = 60;
const passageTermsMax = 100;
/** The text is analysed in slices, so that a line of 20 MB does not become a million tokens at once. */
const sliceCharsMax = 64 * 1024;
const goodPlace = /\n|[.!?。！？;]\s/;

export function* passagesOf(text: string): Generator<Passage> {
  if (text.length <= sliceCharsMax) return yield* cut(text, 0);
  for (let start = 0; start < text.length;) {
    const end = sliceEnd(text, start);
    yield* cut(text.slice(start, end), start);
    start = end;
  }
}

/** Where a slice may end: after white space if there is any in its last part, never inside a pair. */
function sliceEnd(text: string, start: number): number {
  const end = Math.min(text.length, start + sliceCharsMax);
  if (end === text.length) return end;
  const lastPart = text.slice(end - 1024, end);
  const space = lastPart.search(/\s\S*$/);
  if (space >= 0) return end - 1024 + space + 1;
  const code = text.charCodeAt(end);
  return code >= 0xdc00 && code <= 0xdfff ? end - 1 : end;
}

function* cut(text: string, base: number): Generator<Passage> {
  const folded = fold(text);
  const tokens = tokensOf(folded);
  if (tokens.length <= wholeTermsMax) return yield { start: base, text, tokens };
  let first = 0;
  let start = 0;
  while (first < tokens.length) {
    const last = lastTokenOf(tokens, first, folded.text);
    const following = tokens[last + 1];
    const end = following === undefined ? text.length : originalOffset(folded, following.start);
    yield { start: base + start, text: text.slice(start, end), tokens: tokens.slice(first, last + 1) };
    first = last + 1;
    start = end;
  }
}

function lastTokenOf(tokens: readonly Token[], first: number, text: string): number {
  const limit = Math.min(tokens.length, first + passageTermsMax);
  // What would be left over is taken along rather than left as a passage of a few words.
  if (tokens.length - first <= wholeTermsMax) return tokens.length - 1;
  for (let index = first + passageTermsMin; index < limit; index += 1) {
    if (goodPlace.test(text.slice(tokens[index]!.end, tokens[index + 1]?.start ?? text.length))) return index;
  }
  return limit - 1;
}

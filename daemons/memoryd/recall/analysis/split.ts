/** Splits folded text into words, whole identifiers, pairs of unspaced letters, and signs, with where each lies. */
import { classOf, connector, letter, separator, sign, unspaced } from './character.ts';

export type PieceKind =
  /** A word, or a word inside an identifier. */
  | 'word'
  /** An identifier, path, version or address as a whole; its words come besides. */
  | 'whole'
  /** One letter of an unspaced script. */
  | 'single'
  /** Two neighbouring letters of an unspaced script. */
  | 'pair'
  | 'sign';

/** Called for each piece; start and end are offsets in the folded text. */
export type Take = (kind: PieceKind, start: number, end: number) => void;

/** A whole over this length is data rather than a name that somebody types. */
const wholeCharsMax = 100;
const zeroWidthJoiner = 0x200d;
const apostrophe = 0x27;
const underscore = 0x5f;

interface Run {
  readonly start: number;
  readonly end: number;
}

export function split(text: string, take: Take): void {
  for (let at = 0; at < text.length;) {
    const code = text.codePointAt(at)!;
    const kind = classOf(code);
    if (kind === letter) at = chunk(text, at, take);
    else if (kind === unspaced) at = unspacedRun(text, at, take);
    else if (kind === sign) at = signRun(text, at, take);
    else if (code === underscore) at = chunk(text, at, take);
    else at += widthOf(code);
  }
}

function widthOf(code: number): number {
  return code > 0xffff ? 2 : 1;
}

/** Runs of letters joined by connectors: `don't`, `src/main.py`, `getUserName`, or one plain word. */
function chunk(text: string, start: number, take: Take): number {
  const runs: Run[] = [];
  let at = start;
  for (;;) {
    const end = runEnd(text, at);
    if (end > at) runs.push({ start: at, end });
    const next = connectorsEnd(text, end);
    if (next === end || next >= text.length || classOf(text.codePointAt(next)!) !== letter) {
      at = end;
      break;
    }
    at = next;
  }
  if (runs.length === 0) return connectorsEnd(text, start);
  takeChunk(text, joinApostrophes(text, runs), take);
  return Math.max(at, start + 1);
}

function runEnd(text: string, start: number): number {
  let at = start;
  while (at < text.length) {
    const code = text.codePointAt(at)!;
    if (classOf(code) !== letter) break;
    at += widthOf(code);
  }
  return at;
}

function connectorsEnd(text: string, start: number): number {
  let at = start;
  while (at < text.length && classOf(text.charCodeAt(at)) === connector) at += 1;
  return at;
}

const contractions = new Set(['t', 's', 're', 've', 'll', 'd', 'm']);

/** don't is one word, Anna's is Anna, o'clock and l'eau are two. */
function joinApostrophes(text: string, runs: readonly Run[]): Run[] {
  const joined: Run[] = [];
  for (const run of runs) {
    const last = joined.at(-1);
    const isSuffix =
      last !== undefined &&
      run.start === last.end + 1 &&
      text.charCodeAt(last.end) === apostrophe &&
      contractions.has(text.slice(run.start, run.end).toLowerCase());
    if (isSuffix) joined[joined.length - 1] = { start: last.start, end: run.end };
    else joined.push(run);
  }
  return joined;
}

function takeChunk(text: string, runs: readonly Run[], take: Take): void {
  const first = runs[0]!;
  const last = runs.at(-1)!;
  for (const run of runs) takeRun(text, run, take);
  if (runs.length > 1) {
    if (last.end - first.start <= wholeCharsMax && isName(text, runs)) take('whole', first.start, last.end);
    for (const inner of innerNames(text, runs)) take('whole', inner.start, inner.end);
  }
  // C++, C#, F#: a letter or two with its marks.
  if (last.end - last.start <= 2 && /^(?:\+\+|#)/.test(text.slice(last.end, last.end + 2)))
    take('whole', last.start, last.end + (text[last.end] === '#' ? 1 : 2));
}

/** Two words that a hyphen or a slash joins, as in well-known, are no name; with digits or other marks they are. */
function isName(text: string, runs: readonly Run[]): boolean {
  for (let index = 1; index < runs.length; index += 1) {
    const joint = text.slice(runs[index - 1]!.end, runs[index]!.start);
    if (joint !== '-' && joint !== "'" && joint !== '&') return true;
  }
  return /\d/.test(text.slice(runs[0]!.start, runs.at(-1)!.end));
}

/** In `src/main.py:12` also `main.py` is a name: the stretches between slashes and colons. */
function innerNames(text: string, runs: readonly Run[]): Run[] {
  const stretches: Run[][] = [[]];
  for (const [index, run] of runs.entries()) {
    if (index > 0 && /[/\\:@]/.test(text.slice(runs[index - 1]!.end, run.start))) stretches.push([]);
    stretches.at(-1)!.push(run);
  }
  if (stretches.length === 1) return [];
  return stretches
    .filter((stretch) => stretch.length > 1 && isName(text, stretch))
    .map((stretch) => ({ start: stretch[0]!.start, end: stretch.at(-1)!.end }))
    .filter(({ start, end }) => end - start <= wholeCharsMax);
}

/** Where a lower-case letter or digit meets a capital, or the last capital of several meets a lower-case one. */
const humps = /(?<=[\p{Ll}\p{Nd}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u;
const asciiHump = /[a-z0-9][A-Z]|[A-Z][A-Z][a-z]/;
const numbered = /^(\p{L}{3,})(\d{1,6})$/u;

/** One run of letters: a word, or several written as camelCase, or a word with a number. */
function takeRun(text: string, { start, end }: Run, take: Take): void {
  const run = text.slice(start, end);
  if (end - start > 3 && end - start <= wholeCharsMax) {
    if (asciiHump.test(run)) {
      const words = run.split(humps);
      if (words.length > 1 && words.some((word) => word.length > 2)) {
        let at = start;
        for (const word of words) {
          take('word', at, at + word.length);
          at += word.length;
        }
        take('whole', start, end);
        return;
      }
    }
    const withNumber = isDigit(text.charCodeAt(end - 1)) ? numbered.exec(run) : null;
    if (withNumber !== null) {
      take('whole', start, end);
      take('word', start, start + withNumber[1]!.length);
      return;
    }
  }
  take('word', start, end);
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function unspacedRun(text: string, start: number, take: Take): number {
  let at = start;
  let before = -1;
  while (at < text.length) {
    const code = text.codePointAt(at)!;
    if (classOf(code) !== unspaced) break;
    const end = at + widthOf(code);
    take('single', at, end);
    if (before >= 0) take('pair', before, end);
    before = at;
    at = end;
  }
  return at;
}

/** A flag is two letters, a family several pictures joined; both are one sign, and the pictures of a family are found alone. */
function signRun(text: string, start: number, take: Take): number {
  const first = text.codePointAt(start)!;
  let at = start + widthOf(first);
  if (isRegional(first) && isRegional(text.codePointAt(at) ?? separator)) at += 2;
  let partStart = start;
  while (text.charCodeAt(at) === zeroWidthJoiner && at + 1 < text.length) {
    take('sign', partStart, at);
    partStart = at + 1;
    at = partStart + widthOf(text.codePointAt(partStart)!);
  }
  if (partStart !== start) take('sign', partStart, at);
  take('sign', start, at);
  return at;
}

function isRegional(code: number): boolean {
  return code >= 0x1f1e6 && code <= 0x1f1ff;
}

/** From text to the terms under which it is found, and where each lies in the text. */
import type { Folded } from './fold.ts';
import { split, type PieceKind } from './split.ts';
import { boundedTerm, stemOf, termOf } from './stem.ts';

export interface Token {
  readonly kind: PieceKind;
  readonly term: string;
  /** Offsets in the folded text; see `originalOffset`. */
  readonly start: number;
  readonly end: number;
}

/** Every term of a text that is indexed, in order; words without meaning are left out. */
export function tokensOf(folded: Folded): Token[] {
  const tokens: Token[] = [];
  const { text } = folded;
  split(text, (kind, start, end) => {
    const term = pieceTerm(kind, text.slice(start, end));
    if (term !== '') tokens.push({ kind, term, start, end });
  });
  return tokens;
}

/** Words as written, stop words too: what an exact phrase is compared with. */
export function writtenWords(folded: Folded): { word: string; start: number; end: number }[] {
  const words: { word: string; start: number; end: number }[] = [];
  split(folded.text, (kind, start, end) => {
    if (kind !== 'pair' && kind !== 'whole') {
      words.push({ word: withoutPossessive(folded.text.slice(start, end).toLowerCase()), start, end });
    }
  });
  return words;
}

export function originalOffset(folded: Folded, offset: number): number {
  return folded.offsets === undefined ? offset : folded.offsets[offset]!;
}

function pieceTerm(kind: PieceKind, written: string): string {
  const piece = written.toLowerCase();
  if (kind === 'word') return termOf(withoutPossessive(piece).replaceAll("'", ''));
  // A camelCase name and the same letters in lower case are one word.
  if (kind === 'whole') return /^[a-z]+$/.test(piece) ? stemOf(piece) : boundedTerm(piece);
  return piece;
}

function withoutPossessive(word: string): string {
  return word.endsWith("'s") ? word.slice(0, -2) : word;
}

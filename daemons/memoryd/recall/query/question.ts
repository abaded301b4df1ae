/** What a query asks for: its terms, its phrases, and hints at times and kinds of answers. Every string is one. */
import { tokensOf, writtenWords, type Token } from '../analysis/analyse.ts';
import { askedCue } from '../analysis/cues.ts';
import { fold } from '../analysis/fold.ts';
import type { NamedSpeakers } from '../ranking/speakers.ts';

export interface Question {
  readonly text: string;
  /** Distinct terms, in order. */
  readonly terms: readonly string[];
  /** The words among them in order, for pairs of neighbours. */
  readonly sequence: readonly string[];
  /** Words as written of each quoted phrase. */
  readonly phrases: readonly (readonly string[])[];
  /** Terms of all phrases: a turn without one of them holds no phrase. */
  readonly phraseTerms: readonly string[];
  /** Words as written that have a term. */
  readonly written: readonly string[];
  readonly cue: number;
}

/** Of a longer query only so much is read; whoever asks cuts it. */
export const queryCharsMax = 32_768;
const phrase = /"([^"]*)"/g;

export function questionOf(text: string, speakers: NamedSpeakers): Question {
  const folded = fold(text);
  const tokens = askedTokens(tokensOf(folded)).filter(
    ({ kind, start, end }) => kind !== 'word' || !speakers.words.has(wordAt(folded.text, start, end)),
  );
  const phrases = [...folded.text.matchAll(phrase)]
    .map(([, inner]) => writtenWords(fold(inner!)).map(({ word }) => word))
    .filter((words) => words.length > 0);
  return {
    text,
    terms: [...new Set(tokens.map(({ term }) => term))],
    sequence: tokens.filter(({ kind }) => kind !== 'whole').map(({ term }) => term),
    phrases,
    phraseTerms: [...new Set(phrases.flatMap((words) => termsIn(words)))],
    written: [...new Set(tokens.map(({ start, end }) => wordAt(folded.text, start, end)))],
    cue: askedCue(text),
  };
}

function wordAt(text: string, start: number, end: number): string {
  const word = text.slice(start, end).toLowerCase();
  return word.endsWith("'s") ? word.slice(0, -2) : word;
}

function termsIn(words: readonly string[]): string[] {
  return askedTokens(tokensOf(fold(words.join(' ')))).map(({ term }) => term);
}

/** A letter of an unspaced script is looked up alone only where it stands alone: its pairs say more. */
function askedTokens(tokens: readonly Token[]): Token[] {
  const pairs = tokens.filter(({ kind }) => kind === 'pair');
  const paired = new Set(pairs.flatMap(({ start, end }) => [start, end]));
  return tokens.filter(
    ({ kind, start, end }) => kind !== 'single' || (!paired.has(start) && !paired.has(end)),
  );
}

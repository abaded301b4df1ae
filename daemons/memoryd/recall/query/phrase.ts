/** Whether a text holds a phrase exactly: its words as written, next to each other, in order. */
import { writtenWords } from '../analysis/analyse.ts';
import { fold } from '../analysis/fold.ts';

export function holdsPhrases(text: string, phrases: readonly (readonly string[])[]): boolean {
  const words = writtenWords(fold(text)).map(({ word }) => word);
  return phrases.every((phrase) => holds(words, phrase));
}

function holds(words: readonly string[], phrase: readonly string[]): boolean {
  for (let start = 0; start + phrase.length <= words.length; start += 1) {
    if (phrase.every((word, at) => words[start + at] === word)) return true;
  }
  return false;
}

/** Whether a text holds all the words as they are written. */
export function holdsWritten(text: string, written: readonly string[]): boolean {
  const folded = fold(text).text.toLowerCase();
  return written.every((word) => folded.includes(word));
}

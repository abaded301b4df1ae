/** From a word as written to the term under which all its forms are found. */
import porter2 from 'wink-porter2-stemmer';
import { irregularForms } from './irregular-forms.ts';
import { stopWords } from './stop-words.ts';

/** A longer word is an id or data: it is found by its beginning and has no other forms. */
export const termCharsMax = 64;
const stemmedCharsMax = 32;
const english = /^[a-z]+$/;

const cacheEntriesMax = 50_000;
const cache = new Map<string, string>();

/** @param word lower case, folded. @returns '' for a word that is not indexed. */
export function termOf(word: string): string {
  const known = cache.get(word);
  if (known !== undefined) return known;
  const term = stopWords.has(word) ? '' : stemOf(word);
  if (cache.size >= cacheEntriesMax) cache.clear();
  cache.set(word, term);
  return term;
}

/** As `termOf`, but a stop word keeps its stem. */
export function stemOf(word: string): string {
  if (word.length > stemmedCharsMax || !english.test(word)) return boundedTerm(word);
  return porter2(irregularForms.get(word) ?? word);
}

/** Cut at a code point, so that no half of a pair becomes part of a key. */
export function boundedTerm(term: string): string {
  if (term.length <= termCharsMax) return term;
  const high = term.charCodeAt(termCharsMax - 1);
  return term.slice(0, high >= 0xd800 && high <= 0xdbff ? termCharsMax - 1 : termCharsMax);
}

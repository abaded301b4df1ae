/** Terms that the query does not hold but may mean: nearest words, and words spelt alike where a term is hardly known. */
import type { WordVectors } from '../analysis/word-vectors.ts';
import { isSpellable, type Vocabulary } from '../index/vocabulary.ts';
import { idfOf, isCommon } from './first-stage.ts';
import { weights } from './weights.ts';

export interface Expansion {
  readonly term: string;
  readonly weight: number;
}

export function expansionsOf(
  terms: readonly string[],
  { vectors, vocabulary, turns }: { vectors: WordVectors; vocabulary: Vocabulary; turns: number },
): Expansion[] {
  const own = new Set(terms);
  const found = new Map<string, number>();
  const offer = (term: string, weight: number) => {
    const holding = vocabulary.countOf(term);
    if (own.has(term) || holding === 0) return;
    if (isCommon(holding, turns)) return;
    found.set(term, Math.max(found.get(term) ?? 0, weight));
  };
  for (const term of terms) {
    const idf = idfOf(turns, vocabulary.countOf(term));
    const evened = (other: string) => Math.min(1, idf / idfOf(turns, vocabulary.countOf(other)));
    const near = vectors
      .near(term)
      .filter(({ term, cosine }) => cosine >= weights.nearCosineMin && vocabulary.countOf(term) > 0)
      .slice(0, weights.nearMax);
    for (const { term, cosine } of near) offer(term, weights.near * ((cosine - 0.3) / 0.7) * evened(term));
    for (const { term: word, likeness } of alike(term, vocabulary)) {
      const isUnseen = vocabulary.countOf(term) === 0;
      offer(word, (isUnseen ? weights.alikeUnseen : weights.alike) * likeness * evened(word));
    }
  }
  return [...found].map(([term, weight]) => ({ term, weight }));
}

function alike(term: string, vocabulary: Vocabulary): { term: string; likeness: number }[] {
  if (!isSpellable(term) || vocabulary.countOf(term) > weights.alikeTurnsMax) return [];
  return vocabulary.similar(term, { likenessMin: weights.alikeMin, max: weights.alikeMax });
}

/** How a question becomes a query of the peers: its words without those that every text has. */
import { stopWords } from '../../daemons/memoryd/recall/analysis/stop-words.ts';

export function wordsOf(text: string): string[] {
  return (
    text
      .normalize('NFKC')
      .toLowerCase()
      .replaceAll(/['’]s\b/g, '')
      .replaceAll(/['’]/g, '')
      .match(/[\p{L}\p{N}]+/gu)
      ?.slice() ?? []
  );
}

/** All of them where nothing else is left. */
export function tellingWordsOf(text: string): string[] {
  const words = wordsOf(text);
  const telling = words.filter((word) => !stopWords.has(word));
  return telling.length === 0 ? words : telling;
}

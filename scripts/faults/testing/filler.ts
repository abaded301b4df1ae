/** Text to fill records with: of any length, mostly short, of words that recall has to look at. */
import type { SeededRandom } from '../../../daemons/memoryd/store/seeded-random.ts';

const words =
  'memory runbook episode ledger checkpoint device power sudden loss journal owner daemon socket query window note fact person session tool error retry ünïcode 漢字'.split(
    ' ',
  );

export function filler(random: SeededRandom, wordsMax = 60): string {
  // One of forty is large: then a log of the store spans blocks, and a group several of them.
  const count = random.below(40) === 0 ? 4000 : 1 + random.below(wordsMax);
  return Array.from({ length: count }, () => words[random.below(words.length)]).join(' ');
}

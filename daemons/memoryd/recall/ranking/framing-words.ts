/** Words that say how something is asked about rather than what: what is looked for seldom holds them, though they are rare elsewhere. */
import { stemOf } from '../analysis/stem.ts';

export const framingTerms: ReadonlySet<string> = new Set(
  `mention describe say tell talk discuss state according express explain refer remember recall remind
  type kind sort example item thing specific particular certain exact detail
  share might could like possible likely seem currently`
    .split(/\s+/)
    .map((word) => stemOf(word)),
);

/** Ranks a few hundred short descriptions against a query: rare words count more, a name more than its description. */

interface Ranked {
  readonly name: string;
  readonly description: string;
  /** Further words that describe it, such as names of parameters. */
  readonly words: string;
}

const nameWeight = 3;
const descriptionWeight = 1;
const wordsWeight = 0.7;
/** A word that only begins like the one looked for. */
const prefixWeight = 0.5;
const prefixCharsMin = 3;
const queryWordsMax = 32;

/** Those with a score, best first; equal ones keep their order. */
export function rank<T extends Ranked>(query: string, candidates: readonly T[]): T[] {
  const wanted = [...new Set(wordsOf(query))].slice(0, queryWordsMax);
  const fields = candidates.map((candidate) => ({
    candidate,
    fields: [
      { words: new Set(wordsOf(candidate.name)), weight: nameWeight },
      { words: new Set(wordsOf(candidate.description)), weight: descriptionWeight },
      { words: new Set(wordsOf(candidate.words)), weight: wordsWeight },
    ],
  }));
  const scores = new Map<T, number>();
  for (const word of wanted) {
    const matches = fields
      .map(({ candidate, fields }) => ({
        candidate,
        match: Math.max(...fields.map(({ words, weight }) => weight * likeness(word, words))),
      }))
      .filter(({ match }) => match > 0);
    const rarity = Math.log(1 + candidates.length / (1 + matches.length));
    for (const { candidate, match } of matches)
      scores.set(candidate, (scores.get(candidate) ?? 0) + match * rarity);
  }
  return [...scores].toSorted(([, a], [, b]) => b - a).map(([candidate]) => candidate);
}

function likeness(word: string, words: ReadonlySet<string>): number {
  if (words.has(word)) return 1;
  if (word.length < prefixCharsMin) return 0;
  for (const other of words) {
    if (other.length >= prefixCharsMin && (other.startsWith(word) || word.startsWith(other)))
      return prefixWeight;
  }
  return 0;
}

/** Words too common in questions to say which tool is meant. */
const fillers = new Set(
  'a an and are can do does for from how i in is it me my of on or please that the this to tool tools use want what which with you'.split(
    ' ',
  ),
);

/** Lower-case words without plurals; camelCase, snake_case and paths come apart. */
export function wordsOf(text: string): string[] {
  return text
    .normalize('NFKC')
    .replaceAll(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}\p{M}]+/u)
    .filter((word) => word !== '' && !fillers.has(word))
    .map(singular);
}

const pluralCharsMin = 4;

function singular(word: string): string {
  if (word.length < pluralCharsMin || !word.endsWith('s') || word.endsWith('ss')) return word;
  return word.endsWith('ies') ? `${word.slice(0, -'ies'.length)}y` : word.slice(0, -1);
}

const editsMax = 3;

/** The names nearest to one that does not exist, for a sentence that helps. */
export function nearestNames(name: string, names: readonly string[], max: number): string[] {
  const lower = name.toLowerCase();
  const near = names
    .map((other) => {
      const tail = other.slice(other.indexOf('/') + 1).toLowerCase();
      return { other, edits: Math.min(editDistance(lower, other.toLowerCase()), editDistance(lower, tail)) };
    })
    .filter(({ edits }) => edits <= editsMax)
    .toSorted((a, b) => a.edits - b.edits)
    .map(({ other }) => other);
  const alike = rank(
    name,
    names.map((other) => ({ name: other, description: '', words: '' })),
  );
  return [...new Set([...near, ...alike.map((other) => other.name)])].slice(0, max);
}

const comparedCharsMax = 100;

function editDistance(a: string, b: string): number {
  if (a.length > comparedCharsMax || b.length > comparedCharsMax) return Infinity;
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const swap = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? Infinity;
}

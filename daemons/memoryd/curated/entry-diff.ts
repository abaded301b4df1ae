/** What changed between two lists of entries, and the same change made again on another list. */
import { kinship } from './similarity.ts';

export interface Changed {
  readonly before: string | null;
  readonly after: string | null;
}

/** Beyond this many comparisons lists are compared as sets: only a file made by a program is so long. */
const comparisonsMax = 1_000_000;
/** Beyond this many pairs nobody asks which entry was reworded to which. */
const pairsMax = 2500;
/** An entry that went and one that came in its place are one entry that was reworded, from here on. */
const rewordedMin = 0.5;

export function sameEntries(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((entry, at) => entry === right[at]);
}

/** The entries that went, came or were reworded; one that only moved is no change of what the file says. */
export function diffEntries(before: readonly string[], after: readonly string[]): Changed[] {
  const { gone, come } = withoutMoved(unmatched(before, after));
  if (gone.length * come.length > pairsMax) return [...gone.map(removed), ...come.map(added)];
  const changed = gone.map(({ text, place }): Changed => {
    const reworded = come.findIndex((one) => one.place === place && kinship(text, one.text) >= rewordedMin);
    return { before: text, after: reworded < 0 ? null : (come.splice(reworded, 1)[0]?.text ?? null) };
  });
  return [...changed, ...come.map(added)];
}

/** What went in one place and came in another is still there. */
function withoutMoved({ gone, come }: Unmatched): Unmatched {
  const moved = new Map<string, number>();
  for (const { text } of come) moved.set(text, (moved.get(text) ?? 0) + 1);
  const stays = (count: Map<string, number>) => (one: Loose) => {
    const left = count.get(one.text) ?? 0;
    count.set(one.text, left - 1);
    return left <= 0;
  };
  const left = new Map<string, number>();
  for (const { text } of gone) left.set(text, (left.get(text) ?? 0) + 1);
  return { gone: gone.filter(stays(moved)), come: come.filter(stays(left)) };
}

function removed({ text }: Loose): Changed {
  return { before: text, after: null };
}

function added({ text }: Loose): Changed {
  return { before: null, after: text };
}

/** Makes a change on a list that may have changed otherwise: what is already so stays, what has gone is not missed. */
export function applyChanges(entries: readonly string[], changed: readonly Changed[]): string[] {
  const result = [...entries];
  for (const { before, after } of changed) {
    const at = before === null ? -1 : result.indexOf(before);
    if (after === null) {
      if (at >= 0) result.splice(at, 1);
    } else if (at >= 0 && !result.includes(after)) result[at] = after;
    else if (at >= 0) result.splice(at, 1);
    else if (!result.includes(after)) result.push(after);
  }
  return result;
}

interface Unmatched {
  readonly gone: Loose[];
  readonly come: Loose[];
}

interface Loose {
  readonly text: string;
  /** How many kept entries stand before it: the gap it is in. */
  readonly place: number;
}

function unmatched(before: readonly string[], after: readonly string[]): Unmatched {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head += 1;
  let tail = 0;
  while (
    tail < before.length - head &&
    tail < after.length - head &&
    before[before.length - 1 - tail] === after[after.length - 1 - tail]
  )
    tail += 1;
  const left = before.slice(head, before.length - tail);
  const right = after.slice(head, after.length - tail);
  return left.length * right.length > comparisonsMax ? asSets(left, right) : bySequence(left, right);
}

/** What is left of both when the longest common subsequence is taken out. */
function bySequence(left: readonly string[], right: readonly string[]): Unmatched {
  const width = right.length + 1;
  const longest = new Uint32Array((left.length + 1) * width);
  const at = (row: number, column: number) => longest[row * width + column] ?? 0;
  for (let row = left.length - 1; row >= 0; row -= 1) {
    for (let column = right.length - 1; column >= 0; column -= 1) {
      longest[row * width + column] =
        left[row] === right[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const gone: Loose[] = [];
  const come: Loose[] = [];
  let [row, column, place] = [0, 0, 0];
  while (row < left.length || column < right.length) {
    if (row < left.length && column < right.length && left[row] === right[column]) {
      row += 1;
      column += 1;
      place += 1;
    } else if (column >= right.length || (row < left.length && at(row + 1, column) >= at(row, column + 1))) {
      gone.push({ text: left[row] ?? '', place });
      row += 1;
    } else {
      come.push({ text: right[column] ?? '', place });
      column += 1;
    }
  }
  return { gone, come };
}

function asSets(left: readonly string[], right: readonly string[]): Unmatched {
  const [had, has] = [new Set(left), new Set(right)];
  return {
    gone: left.filter((text) => !has.has(text)).map((text, place) => ({ text, place })),
    come: right.filter((text) => !had.has(text)).map((text, place) => ({ text, place })),
  };
}

/** Shows found turns: texts within a budget, each cut around its match, with the records around it. */
import type { Hit, Neighbour } from '../../../../shared/protocol/replies.ts';
import { originalOffset, tokensOf } from '../analysis/analyse.ts';
import { fold } from '../analysis/fold.ts';
import { mark, none, roleOf } from '../index/columns.ts';
import type { TurnIndex } from '../index/turn-index.ts';
import type { Item } from '../item.ts';
import type { Scored } from '../ranking/best.ts';
import { excerpt, type Excerpt } from './excerpt.ts';
import type { ReadBack } from './read-back.ts';

/** Of what hits may take together, this share is theirs before the records around them get any. */
const hitShare = 0.75;
/** A neighbour that would be shorter is left out. */
const neighbourCharsMin = 24;
/** Of a long text only so much around the passage is searched for the best place to cut. */
const searchedCharsMax = 8_192;
const scoreDigits = 4;

export interface Shown {
  readonly found: Scored;
  readonly item: Item;
}

export interface ShowOptions {
  readonly terms: ReadonlyMap<string, number>;
  readonly charsMax: number;
  /** Records before and after. */
  readonly window: number;
}

export async function show(
  { index, readBack }: { index: TurnIndex; readBack: ReadBack },
  shown: readonly Shown[],
  { terms, charsMax, window }: ShowOptions,
): Promise<Hit[]> {
  const share = window === 0 ? charsMax : Math.max(shown.length, Math.floor(charsMax * hitShare));
  const budgets = portions(
    shown.map(({ item }) => item.text.length),
    share,
  );
  const excerpts = shown.map(({ found, item }, at) => {
    const passage = readBack.passageOf(found.turn, item);
    return excerpt(item.text, { charsMax: budgets[at]!, focus: focusOf(item.text, passage, terms) });
  });
  const around = shown.map(({ found }) => ({
    before: recordsFrom(index, found.turn, { towards: 'before', max: window }),
    after: recordsFrom(index, found.turn, { towards: 'after', max: window }),
  }));
  const texts = await readBack.items(around.flatMap(({ before, after }) => [...before, ...after]));
  const spent = excerpts.reduce((sum, { text }) => sum + text.length, 0);
  const neighbours = neighbourTexts(
    around.flatMap(({ before, after }) => [...before, ...after]),
    {
      texts,
      charsMax: charsMax - spent,
    },
  );
  return shown.map(({ found, item }, at) => {
    const listed = (turns: readonly number[]) =>
      turns.flatMap((turn) => neighbourOf(turn, { index, item: texts.get(turn), text: neighbours() }));
    const before = listed(around[at]!.before);
    const after = listed(around[at]!.after);
    return { ...hitOf(index, found, item, excerpts[at]!), before, after };
  });
}

function hitOf(
  index: TurnIndex,
  found: Scored,
  item: Item,
  { text, isCut }: Excerpt,
): Omit<Hit, 'before' | 'after'> {
  const { kind, id } = index.sessions.at(index.columns.session[found.turn]!);
  return {
    source: item.source,
    ...(kind === 'session' ? { session: id } : { run: id }),
    record: item.record,
    ...(item.turn === undefined ? {} : { turn: item.turn }),
    at: new Date(item.atMs).toISOString(),
    role: item.role,
    ...(item.name === undefined ? {} : { name: item.name }),
    ...(item.ref === undefined ? {} : { ref: item.ref }),
    score: Number(found.score.toFixed(scoreDigits)),
    text,
    ...(isCut ? { cut: true } : {}),
  };
}

/** Shares a budget so that short texts stay whole and the long ones get equal parts; everybody gets something. */
export function portions(lengths: readonly number[], charsMax: number): number[] {
  const budgets = lengths.map(() => 0);
  let left = charsMax;
  const order = lengths
    .map((length, at) => ({ length, at }))
    .toSorted((one, other) => one.length - other.length);
  for (const [place, { length, at }] of order.entries()) {
    const fair = Math.floor(left / (order.length - place));
    const budget = Math.min(length, fair);
    budgets[at] = budget;
    left -= budget;
  }
  return budgets;
}

/** Where in the text the telling terms lie. */
function focusOf(
  text: string,
  passage: { start: number; end: number },
  terms: ReadonlyMap<string, number>,
): { at: number; weight: number }[] {
  const searched = text.slice(passage.start, Math.min(passage.end, passage.start + searchedCharsMax));
  const folded = fold(searched);
  const focus = tokensOf(folded).flatMap(({ term, start }) => {
    const weight = terms.get(term);
    return weight === undefined ? [] : [{ at: passage.start + originalOffset(folded, start), weight }];
  });
  return focus.length > 0 ? focus : [{ at: passage.start, weight: 0 }];
}

/** The heads of the records before or after the record of a turn, in the order of the session. */
function recordsFrom(
  { columns }: TurnIndex,
  turn: number,
  { towards, max }: { towards: 'before' | 'after'; max: number },
): number[] {
  const heads: number[] = [];
  const step = towards === 'before' ? columns.before : columns.after;
  const isContinuation = (at: number) => (columns.flags[at]! & mark.continuation) !== 0;
  let at = turn;
  // First to the edge of the record itself.
  if (towards === 'before') while (isContinuation(at) && step[at] !== none) at = step[at]!;
  for (at = step[at]!; at !== none && heads.length < max; at = step[at]!) {
    if (!isContinuation(at)) heads.push(at);
  }
  return towards === 'before' ? heads.toReversed() : heads;
}

/** Texts of the records around, one after the other, as far as the budget goes. */
function neighbourTexts(
  turns: readonly number[],
  { texts, charsMax }: { texts: ReadonlyMap<number, Item>; charsMax: number },
): () => string {
  const whole = turns.map((turn) => texts.get(turn)?.text ?? '');
  const budgets = portions(
    whole.map(({ length }) => length),
    Math.max(0, charsMax),
  );
  let next = 0;
  return () => {
    const at = next++;
    const text = whole[at] ?? '';
    const budget = budgets[at] ?? 0;
    if (budget < Math.min(neighbourCharsMin, text.length)) return '';
    return excerpt(text, { charsMax: budget, focus: [{ at: 0, weight: 0 }] }).text;
  };
}

function neighbourOf(
  turn: number,
  { index, item, text }: { index: TurnIndex; item: Item | undefined; text: string },
): Neighbour[] {
  if (item === undefined || text === '') return [];
  return [{ record: item.record, role: roleOf(index.columns.flags[turn]!), text }];
}

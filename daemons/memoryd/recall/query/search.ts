/** Finds the turns that answer a question, best first: expansions, first stage, filters, second stage. */
import type { WordVectors } from '../analysis/word-vectors.ts';
import { PostingList } from '../index/postings.ts';
import { RecordHeads } from '../index/record-heads.ts';
import type { TurnIndex } from '../index/turn-index.ts';
import { Best, type Scored } from '../ranking/best.ts';
import { dateHintOf } from '../ranking/date-hint.ts';
import { expansionsOf } from '../ranking/expansion.ts';
import { framingTerms } from '../ranking/framing-words.ts';
import { FirstStage, idfOf, type ScoredTerm } from '../ranking/first-stage.ts';
import { meaningScore, pairScore } from '../ranking/second-stage.ts';
import { askedRole, type NamedSpeakers } from '../ranking/speakers.ts';
import { turnFactors, type TurnFactors } from '../ranking/turn-factors.ts';
import { weights } from '../ranking/weights.ts';
import type { Filter } from './filter.ts';
import { zoneOffsetMs } from './local-day.ts';
import type { Question } from './question.ts';
import type { ReadBack } from './read-back.ts';

/** Own terms of a longer query beyond the most telling ones are left out. */
export const termsMax = 32;

export interface Asked {
  readonly question: Question;
  readonly speakers: NamedSpeakers;
  readonly filter: Filter;
  /** How many turns are wanted; never fewer than are looked at in the second stage. */
  readonly max: number;
  readonly order: 'relevance' | 'newest' | 'oldest';
  readonly damaged: (error: unknown) => void;
}

export interface Found {
  readonly turns: readonly Scored[];
  /** Terms that a hit may be shown for, with how telling they are. */
  readonly terms: ReadonlyMap<string, number>;
  /** Whether the best turn holds every word of the query, in some form. */
  readonly holdsAll: boolean;
  readonly isCut: boolean;
}

export interface Equipment {
  readonly index: TurnIndex;
  readonly vectors: WordVectors;
  readonly readBack: ReadBack;
  readonly nowMs: () => number;
  readonly timeZone: string;
}

export class Search {
  readonly #equipment: Equipment;
  readonly #firstStage = new FirstStage();

  constructor(equipment: Equipment) {
    this.#equipment = equipment;
  }

  async find(asked: Asked): Promise<Found> {
    const { index, vectors } = this.#equipment;
    const vocabulary = await index.vocabulary();
    const turns = Math.max(1, index.columns.live);
    const { terms, isCut } = mostTelling(asked.question.terms, (term) => vocabulary.countOf(term), turns);
    const expansions = expansionsOf(terms, { vectors, vocabulary, turns });
    const wanted = [...terms, ...expansions.map(({ term }) => term), ...asked.question.phraseTerms];
    const lists = index.postings([...new Set(wanted)], asked.damaged);
    const scored = (term: string, weight: number, isOwn: boolean): ScoredTerm => {
      const postings = lists.get(term) ?? new PostingList(1);
      return { postings, weight, isOwn, idf: idfOf(turns, postings.length) };
    };
    const all = [
      ...terms.map((term) => scored(term, framingTerms.has(term) ? weights.framing : 1, true)),
      ...expansions.map(({ term, weight }) => scored(term, weight, false)),
    ];
    const idfs = new Map([...lists].map(([term, list]) => [term, idfOf(turns, list.length)]));
    const allowed = phraseFilter(asked, lists, new RecordHeads(index.columns));
    const first = this.#first(asked, { terms: all, ownCount: terms.length, allowed });
    const found = asked.order === 'relevance' ? await this.#second(asked, first, idfs) : first.best;
    const telling = new Map(all.map(({ idf, weight }, at) => [termAt(at), idf * weight]));
    return { turns: found, terms: telling, holdsAll: first.holdsAll, isCut };

    function termAt(at: number): string {
      return at < terms.length ? terms[at]! : expansions[at - terms.length]!.term;
    }
  }

  /** The best by the index alone. Runs without a pause, as its arrays are shared by all queries. */
  #first(
    asked: Asked,
    { terms, ownCount, allowed }: { terms: ScoredTerm[]; ownCount: number; allowed: Filter },
  ): First {
    const { index, timeZone, nowMs } = this.#equipment;
    const { columns, sessions } = index;
    const stage = this.#firstStage;
    stage.run(columns, sessions, terms);
    const own = terms.slice(0, ownCount);
    const unit = (1 + weights.saturation) * own.reduce((sum, { idf, weight }) => sum + idf * weight, 0) || 1;
    const offsetMs = zoneOffsetMs(timeZone, nowMs());
    const factors = turnFactors(index, {
      cue: asked.question.cue,
      speakers: asked.speakers.numbers,
      role: asked.speakers.numbers.size > 0 ? undefined : askedRole(asked.question.text),
      hint: dateHintOf(asked.question.text, new Date(nowMs() + offsetMs)),
      zoneOffsetMs: offsetMs,
    });
    const passes: Filter = (turn) => asked.filter(turn) && allowed(turn);
    const kept = new Best(Math.max(asked.max, weights.rerankTurns), orderOf(asked.order, columns.atMs));
    // Which passage of a record holds a phrase is known when they are read.
    const isOneOfRecord = asked.question.phraseTerms.length === 0;
    const wanted = { columns, factors, passes, unit, isOneOfRecord };
    if (asked.order === 'relevance') stage.best(kept, wanted);
    else this.#matching(kept, wanted, ownCount);
    const best = kept.sorted();
    const holdsAll = best[0] !== undefined && stage.own[best[0].turn] === ownCount;
    return { best, factors, unit, holdsAll };
  }

  /**
   * By time only what really matches is listed: the turns that hold every word, or where there are none,
   * those at least half as good as the best.
   */
  #matching(kept: Best, wanted: Parameters<FirstStage['best']>[1], ownCount: number): void {
    const { columns } = this.#equipment.index;
    const stage = this.#firstStage;
    const all = new Best(stage.touchedCount, orderOf('relevance', columns.atMs));
    stage.best(all, { ...wanted, isOneOfRecord: false });
    const scored = all.sorted();
    const strict = scored.filter(({ turn }) => stage.own[turn] === ownCount);
    const half = (scored[0]?.score ?? 0) / 2;
    const matching = strict.length > 0 ? strict : scored.filter(({ score }) => score >= half);
    for (const one of wanted.isOneOfRecord ? new RecordHeads(columns).distinct(matching) : matching)
      kept.add(one);
  }

  async #second(asked: Asked, first: First, idfs: ReadonlyMap<string, number>): Promise<Scored[]> {
    const { index } = this.#equipment;
    const order = orderOf('relevance', index.columns.atMs);
    const near = first.best.slice(0, weights.rerankTurns);
    const meant = this.#withMeaning(asked, first, near).toSorted(order);
    const read = await this.#withPairs(asked, first, { turns: meant.slice(0, weights.readTurns), idfs });
    const rest = [...meant.slice(weights.readTurns), ...first.best.slice(weights.rerankTurns)];
    return [...read.toSorted(order), ...rest];
  }

  #withMeaning({ question }: Asked, { factors }: First, turns: readonly Scored[]): Scored[] {
    const { columns, meanings } = this.#equipment.index;
    const likeness = meanings.likenessTo(new Map(question.sequence.map((term) => [term, 1])));
    if (likeness === undefined) return [...turns];
    return turns.map(({ turn, score }) => {
      const added = weights.meaning * meaningScore(turn, columns, likeness);
      return { turn, score: score + factors.full(turn, added * factors.session(columns.session[turn]!), 0) };
    });
  }

  async #withPairs(
    { question }: Asked,
    { factors, unit }: First,
    { turns, idfs }: { turns: readonly Scored[]; idfs: ReadonlyMap<string, number> },
  ): Promise<Scored[]> {
    const { index, readBack } = this.#equipment;
    const { columns } = index;
    if (question.sequence.length < 2) return [...turns];
    const sequences = await readBack.sequences(turns.map(({ turn }) => turn));
    return turns.map(({ turn, score }) => {
      const sequence = sequences.get(turn);
      if (sequence === undefined || columns.isDead(turn)) return { turn, score };
      const pairs = pairScore(question.sequence, sequence, (term) => idfs.get(term) ?? 0);
      const added = (weights.pairs * pairs) / unit;
      return { turn, score: score + factors.full(turn, added * factors.session(columns.session[turn]!), 0) };
    });
  }
}

interface First {
  readonly best: readonly Scored[];
  readonly factors: TurnFactors;
  /** The score of a turn that holds everything, about. */
  readonly unit: number;
  readonly holdsAll: boolean;
}

/** Equal scores: the newer first, so that a correction comes before what it corrects. */
export function orderOf(
  order: 'relevance' | 'newest' | 'oldest',
  atMs: Float64Array,
): (one: Scored, other: Scored) => number {
  const newer = (one: Scored, other: Scored) => atMs[other.turn]! - atMs[one.turn]! || other.turn - one.turn;
  if (order === 'newest') return newer;
  if (order === 'oldest') return (one, other) => newer(other, one);
  return (one, other) => other.score - one.score || newer(one, other);
}

/** Of more terms than can be looked up, the rarest that are there. */
function mostTelling(
  terms: readonly string[],
  countOf: (term: string) => number,
  turns: number,
): { terms: readonly string[]; isCut: boolean } {
  if (terms.length <= termsMax) return { terms, isCut: false };
  const telling = (term: string) => {
    const count = countOf(term);
    return count === 0 ? 0 : idfOf(turns, count);
  };
  const kept = new Set(terms.toSorted((one, other) => telling(other) - telling(one)).slice(0, termsMax));
  return { terms: terms.filter((term) => kept.has(term)), isCut: true };
}

/** A turn that lacks a term of a quoted phrase cannot hold it, nor begin it where the record goes on without one. */
function phraseFilter(
  { question }: Asked,
  lists: ReadonlyMap<string, PostingList>,
  heads: RecordHeads,
): Filter {
  if (question.phraseTerms.length === 0) return () => true;
  let common: Set<number> | undefined;
  for (const term of question.phraseTerms) {
    const list = lists.get(term);
    const holding = list === undefined ? [] : [...list.turns.subarray(0, list.length)];
    const turns = holding.flatMap((turn) => (heads.isContinuation(turn) ? [turn - 1, turn] : [turn]));
    const before = common;
    common = new Set(before === undefined ? turns : turns.filter((turn) => before.has(turn)));
  }
  return (turn) => common!.has(turn);
}

/** Scores every turn that shares a term with the query, with the terms of its neighbours and of its session. */
import { cue } from '../analysis/cues.ts';
import { mark, none, type Columns } from '../index/columns.ts';
import type { PostingList } from '../index/postings.ts';
import { RecordHeads } from '../index/record-heads.ts';
import type { Sessions } from '../index/sessions.ts';
import type { Best, Scored } from './best.ts';
import type { TurnFactors } from './turn-factors.ts';
import { weights } from './weights.ts';

export interface ScoredTerm {
  readonly postings: PostingList;
  readonly weight: number;
  readonly idf: number;
  /** Of the query itself rather than an expansion. */
  readonly isOwn: boolean;
}

interface Wanted {
  readonly columns: Columns;
  readonly factors: TurnFactors;
  readonly passes: (turn: number) => boolean;
  /** The score of a turn that holds everything, about. */
  readonly unit: number;
  /** Of a record of many passages only the best is offered, so that it takes one place and not all. */
  readonly isOneOfRecord: boolean;
}

/** A term in few turns tells more than one in many; never negative. */
export function idfOf(turns: number, holding: number): number {
  return Math.log(1 + (turns - holding + 0.5) / (holding + 0.5));
}

/** What is said in a large share of a large index says too little for what it costs to look for it far around. */
export function isCommon(holding: number, turns: number): boolean {
  return turns > weights.commonFromTurns && holding > turns * weights.commonShare;
}

/** The arrays that one query needs, kept for the next: about 10 bytes a turn. Used by one query at a time, without a pause in between. */
export class FirstStage {
  /** Sum over the terms, for each turn. */
  score = new Float32Array(0);
  /** How many of the query's own terms the turn itself holds. */
  own = new Uint8Array(0);
  sessionScore = new Float32Array(0);
  /** Turns with a score, in no order. */
  touched = new Uint32Array(0);
  touchedCount = 0;
  #counts = new Float32Array(0);
  #near = new Uint32Array(0);
  #sessionCounts = new Float32Array(0);
  #sessionsTouched = new Uint32Array(0);

  run(columns: Columns, sessions: Sessions, terms: readonly ScoredTerm[]): void {
    this.#prepare(columns.count, sessions.total);
    const lengthMean = columns.liveLength / Math.max(1, columns.live);
    const sessionLengthMean = sessions.length / Math.max(1, sessions.count);
    for (const term of terms) {
      const nearCount = this.#spread(columns, term);
      this.#addTurns(columns, { term, nearCount, lengthMean });
      if (term.isOwn) this.#addSessions(columns, sessions, { term, lengthMean: sessionLengthMean });
    }
  }

  /** Offers every turn that passes, with its score for the whole query, as far as it can still enter. */
  best(into: Best, { columns, factors, passes, unit, isOneOfRecord }: Wanted): void {
    const { score, sessionScore, touched, touchedCount } = this;
    const { session } = columns;
    const heads = new RecordHeads(columns);
    let { scoreMin } = into;
    const longRecords = new Map<number, Scored>();
    for (let at = 0; at < touchedCount; at += 1) {
      const turn = touched[at]!;
      const inSession = session[turn]!;
      const plain =
        ((score[turn]! + weights.session * sessionScore[inSession]!) / unit) * factors.session(inSession);
      if (plain * factors.max < scoreMin || !passes(turn)) continue;
      const full = factors.full(turn, plain, scoreMin);
      if (full < scoreMin) continue;
      if (!isOneOfRecord || !heads.isPart(turn)) {
        into.add({ turn, score: full });
        scoreMin = into.scoreMin;
        continue;
      }
      const head = heads.of(turn);
      const known = longRecords.get(head);
      if (known === undefined || full > known.score) longRecords.set(head, { turn, score: full });
    }
    for (const best of longRecords.values()) into.add(best);
  }

  /** Own counts and shares of the neighbours' into `#counts`. @returns how many turns got any. */
  #spread(columns: Columns, { postings, isOwn }: ScoredTerm): number {
    const { before, after, flags } = columns;
    const counts = this.#counts;
    const near = this.#near;
    const { fromBefore, fromAfter, fromQuestion, nearReach } = weights;
    const isFar = isOwn && !isCommon(postings.length, columns.live);
    const backward = isFar ? fromAfter.length : nearReach;
    const forward = isFar ? fromBefore.length : nearReach;
    let nearCount = 0;
    const give = (turn: number, share: number) => {
      if (counts[turn] === 0) near[nearCount++] = turn;
      counts[turn]! += share;
    };
    for (let at = 0; at < postings.length; at += 1) {
      const turn = postings.turns[at]!;
      const turnFlags = flags[turn]!;
      if ((turnFlags & mark.dead) !== 0) continue;
      const count = postings.counts[at]!;
      give(turn, count);
      if (isOwn) this.own[turn]! += 1;
      let neighbour = turn;
      for (let distance = 0; distance < forward; distance += 1) {
        neighbour = after[neighbour]!;
        if (neighbour === none) break;
        const asked = distance === 0 && (turnFlags & cue.question) !== 0;
        give(neighbour, count * (asked ? fromQuestion : fromBefore[distance]!));
      }
      neighbour = turn;
      for (let distance = 0; distance < backward; distance += 1) {
        neighbour = before[neighbour]!;
        if (neighbour === none) break;
        give(neighbour, count * fromAfter[distance]!);
      }
    }
    return nearCount;
  }

  #addTurns(
    columns: Columns,
    { term, nearCount, lengthMean }: { term: ScoredTerm; nearCount: number; lengthMean: number },
  ): void {
    const { saturation, lengthShare } = weights;
    const counts = this.#counts;
    const near = this.#near;
    const { score, touched } = this;
    const gain = term.weight * term.idf * (1 + saturation);
    const flat = saturation * (1 - lengthShare);
    const perLength = (saturation * lengthShare) / Math.max(1, lengthMean);
    let touchedCount = this.touchedCount;
    for (let at = 0; at < nearCount; at += 1) {
      const turn = near[at]!;
      const count = counts[turn]!;
      counts[turn] = 0;
      if (score[turn] === 0) touched[touchedCount++] = turn;
      score[turn]! += (gain * count) / (count + flat + perLength * columns.length[turn]!);
    }
    this.touchedCount = touchedCount;
  }

  #addSessions(
    columns: Columns,
    sessions: Sessions,
    { term, lengthMean }: { term: ScoredTerm; lengthMean: number },
  ): void {
    const { sessionSaturation: saturation, sessionLengthShare: share } = weights;
    const counts = this.#sessionCounts;
    const touched = this.#sessionsTouched;
    const { postings } = term;
    let touchedCount = 0;
    for (let at = 0; at < postings.length; at += 1) {
      const turn = postings.turns[at]!;
      if ((columns.flags[turn]! & mark.dead) !== 0) continue;
      const session = columns.session[turn]!;
      if (counts[session] === 0) touched[touchedCount++] = session;
      counts[session]! += postings.counts[at]!;
    }
    for (let at = 0; at < touchedCount; at += 1) {
      const session = touched[at]!;
      const count = counts[session]!;
      counts[session] = 0;
      const length = sessions.lengths[session]! / Math.max(1, lengthMean);
      const norm = saturation * (1 - share + share * length);
      this.sessionScore[session]! += (term.weight * term.idf * count * (1 + saturation)) / (count + norm);
    }
  }

  #prepare(turns: number, sessions: number): void {
    if (this.score.length < turns) {
      const capacity = Math.ceil(turns * 1.25) + 1_024;
      this.score = new Float32Array(capacity);
      this.own = new Uint8Array(capacity);
      this.#counts = new Float32Array(capacity);
      this.touched = new Uint32Array(capacity);
      this.#near = new Uint32Array(capacity);
    } else {
      for (let at = 0; at < this.touchedCount; at += 1) {
        const turn = this.touched[at]!;
        this.score[turn] = 0;
        this.own[turn] = 0;
      }
    }
    this.touchedCount = 0;
    if (this.sessionScore.length < sessions) {
      const capacity = Math.ceil(sessions * 1.25) + 64;
      this.sessionScore = new Float32Array(capacity);
      this.#sessionCounts = new Float32Array(capacity);
      this.#sessionsTouched = new Uint32Array(capacity);
    } else {
      this.sessionScore.fill(0);
    }
  }
}

/** What a turn's score is multiplied by for what is known of it besides its terms: who speaks, when, and how. */
import { cue } from '../analysis/cues.ts';
import type { Columns } from '../index/columns.ts';
import type { Sessions } from '../index/sessions.ts';
import { dateNearness, type DateHint } from './date-hint.ts';
import { participation } from './speakers.ts';
import { weights } from './weights.ts';

export interface AskedOf {
  /** The cue that an answer would have, or 0. */
  readonly cue: number;
  readonly speakers: ReadonlySet<number>;
  readonly hint: DateHint | undefined;
  /** How far local time is ahead of UTC. */
  readonly zoneOffsetMs: number;
}

export interface TurnFactors {
  /** By session. */
  readonly session: Float32Array;
  /** Of the turn alone; never above `max`. */
  turn(turn: number): number;
  readonly max: number;
}

export function turnFactors(columns: Columns, sessions: Sessions, asked: AskedOf): TurnFactors {
  const { flags, speaker, atMs } = columns;
  const { cue: askedCue, speakers, hint, zoneOffsetMs } = asked;
  const session = participation(columns, speakers, { total: sessions.total, count: sessions.count });
  for (const { number, origin } of sessions) session[number]! *= weights.origin[origin];
  return {
    session,
    max:
      (speakers.size > 0 ? weights.ownTurn : 1) *
      (askedCue === 0 ? 1 : weights.answerType) *
      (hint === undefined ? 1 : 1 + weights.date),
    turn: (turn) => {
      const turnFlags = flags[turn]!;
      let factor = 1;
      if (speakers.has(speaker[turn]!)) factor *= weights.ownTurn;
      if ((turnFlags & cue.question) !== 0) factor *= weights.question;
      if ((turnFlags & askedCue) !== 0) factor *= weights.answerType;
      if (hint !== undefined) factor *= 1 + weights.date * dateNearness(hint, atMs[turn]! + zoneOffsetMs);
      return factor;
    },
  };
}

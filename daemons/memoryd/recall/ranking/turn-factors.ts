/** What a turn's score is multiplied by for what is known of it besides its terms: who speaks, when, and how. */
import type { RecallRole } from '../../../../shared/protocol/replies.ts';
import { cue } from '../analysis/cues.ts';
import { roleOf } from '../index/columns.ts';
import { sessionOrigins } from '../index/sessions.ts';
import type { TurnIndex } from '../index/turn-index.ts';
import { dateNearness, type DateHint } from './date-hint.ts';
import { participation } from './speakers.ts';
import { weights } from './weights.ts';

export interface AskedOf {
  /** The cue that an answer would have, or 0. */
  readonly cue: number;
  readonly speakers: ReadonlySet<number>;
  /** Whose turns are asked for, where no name says it. */
  readonly role: RecallRole | undefined;
  readonly hint: DateHint | undefined;
  /** How far local time is ahead of UTC. */
  readonly zoneOffsetMs: number;
}

export interface TurnFactors {
  session(session: number): number;
  /**
   * The plain score times the factors of the turn itself. What is sure to stay below `scoreMin` may come back as
   * anything below it.
   */
  full(turn: number, plain: number, scoreMin: number): number;
  /** No turn's factors are above this. */
  readonly max: number;
}

export function turnFactors(
  { columns, sessions, participants }: Pick<TurnIndex, 'columns' | 'sessions' | 'participants'>,
  asked: AskedOf,
): TurnFactors {
  const { flags, speaker, atMs } = columns;
  const { cue: askedCue, speakers, role, hint } = asked;
  const nearness = nearnessByDay(asked);
  const dateMax = 1 + weights.date;
  const parts = participation(speakers, { participants, sessions });
  const ofOrigin = sessionOrigins.map((origin) => weights.origin[origin]);
  return {
    session: (session) => (parts?.[session] ?? 1) * ofOrigin[sessions.origins[session]!]!,
    max:
      (speakers.size > 0 ? weights.ownTurn : 1) *
      (role === undefined ? 1 : weights.ownRole) *
      (askedCue === 0 ? 1 : weights.answerType) *
      (hint === undefined ? 1 : dateMax),
    full: (turn, plain, scoreMin) => {
      const turnFlags = flags[turn]!;
      let score = plain;
      if (speakers.has(speaker[turn]!)) score *= weights.ownTurn;
      // Where people are named, I and you are whoever speaks.
      if (role !== undefined && speaker[turn] === 0 && roleOf(turnFlags) === role) score *= weights.ownRole;
      if ((turnFlags & cue.question) !== 0) score *= weights.question;
      if ((turnFlags & askedCue) !== 0) score *= weights.answerType;
      if (hint === undefined || score * dateMax < scoreMin) return score;
      return score * (1 + weights.date * nearness(atMs[turn]!));
    },
  };
}

const dayMs = 24 * 60 * 60 * 1000;

/** Many turns are of one day, and nearness goes by days. */
function nearnessByDay({ hint, zoneOffsetMs }: AskedOf): (atMs: number) => number {
  const known = new Map<number, number>();
  return (atMs) => {
    const day = Math.floor((atMs + zoneOffsetMs) / dayMs);
    let nearness = known.get(day);
    if (nearness === undefined) known.set(day, (nearness = dateNearness(hint!, day * dayMs)));
    return nearness;
  };
}

/** The result of a turn that is over, from its records alone, so that a repeated request is answered alike. */
import type { SessionRecord } from '../../../shared/protocol/sessions.ts';
import { History, turnOf } from '../session/history.ts';
import type { Session } from '../session/session.ts';
import type { TurnEnd } from '../turn/effects.ts';
import { endOf } from '../turn/turn.ts';
import { turnReport, type TurnReport } from './turn-report.ts';

export interface TurnResult {
  readonly end: TurnEnd;
  readonly report: TurnReport;
}

export async function pastTurn(session: Session, turn: number): Promise<TurnResult> {
  const records = session.history.turn === turn ? session.history.current : await recordsOf(session, turn);
  const past = new History(records);
  const end: TurnEnd =
    past.end === undefined ? { turn, outcome: 'cancelled', usage: {}, text: '' } : endOf(past, past.end);
  return { end, report: turnReport(records) };
}

async function recordsOf(session: Session, turn: number): Promise<SessionRecord[]> {
  const records: SessionRecord[] = [];
  for await (const record of session.log.records()) if (turnOf(record) === turn) records.push(record);
  return records;
}

/** The records that are left of a session when turns of it are forgotten. */
import type { SessionRecord } from '../../../shared/protocol/sessions.ts';
import { turnOf } from './history.ts';
import type { DatedBody } from './session-log.ts';

/**
 * Records are counted anew, turns keep their numbers. What was made from a forgotten turn goes with it: each `compact`
 * that stands for it, and the title where it was given by that turn. The prompt is then as long as it was and is
 * shortened again when it has to be.
 */
export async function* withoutTurns(
  records: AsyncIterable<SessionRecord>,
  forgotten: ReadonlySet<number>,
): AsyncGenerator<DatedBody> {
  let seq = 0;
  let firstTurn: number | undefined;
  let firstForgottenSeq = Infinity;
  /** What was counted before, by what it is counted now; only a `compact` refers to it. */
  const counted: { was: number; is: number }[] = [];
  for await (const record of records) {
    const turn = turnOf(record);
    firstTurn ??= turn;
    if (turn !== undefined && forgotten.has(turn)) {
      firstForgottenSeq = Math.min(firstForgottenSeq, record.seq);
      continue;
    }
    if (record.type === 'title' && firstTurn !== undefined && forgotten.has(firstTurn)) continue;
    if (record.type === 'compact' && record.up_to >= firstForgottenSeq) continue;
    counted.push({ was: record.seq, is: seq });
    seq += 1;
    const { v: _v, seq: _seq, at, ...body } = record;
    if (body.type !== 'compact') yield { body, at };
    else yield { body: { ...body, up_to: counted.findLast(({ was }) => was <= body.up_to)?.is ?? 0 }, at };
  }
}

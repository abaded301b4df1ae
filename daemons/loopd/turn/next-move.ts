/** What a turn does next, decided from its records alone: so a turn that a crash broke off goes on where it was. */
import type {
  SessionRecord,
  SessionRecordOf,
  ToolCall,
  TurnOutcome,
} from '../../../shared/protocol/sessions.ts';
import { judgeReply, mayRunCalls } from './judge.ts';
import { identicalCallsMax, repeatOf } from './repeat.ts';

export interface MoveLimits {
  /** Replies of the model in a turn; the last has to be an answer. */
  readonly stepsMax: number;
  /** Steps in a row in which no call could be run. */
  readonly badStepsMax: number;
  readonly maxTokens: number;
}

export type Move =
  | { do: 'ask'; step: number; mustAnswer: boolean; maxTokens: number }
  | { do: 'calls'; calls: readonly ToolCall[]; mayRun: boolean; finish: string }
  | Ending
  | { do: 'over'; end: SessionRecordOf<'end'> };

export interface Ending {
  readonly do: 'end';
  readonly outcome: TurnOutcome;
  readonly error?: { code: string; message: string };
  readonly limit?: 'steps' | 'tokens';
}

/** A reply that was all reasoning gets this much more room the next time. */
const roomierTimes = 2;

export function nextMove(turnRecords: readonly SessionRecord[], limits: MoveLimits): Move {
  const end = turnRecords.find((record) => record.type === 'end');
  if (end) return { do: 'over', end };
  const replies = turnRecords.filter((record) => record.type === 'assistant');
  const last = replies.at(-1);
  if (!last) return { do: 'ask', step: 0, mustAnswer: limits.stepsMax <= 1, maxTokens: limits.maxTokens };

  const before = turnRecords.filter((record) => record.seq < last.seq);
  const forced = forcedBy(before, limits);
  const { calls = [] } = last;
  if (calls.length === 0) return afterText(last, { before, forced, limits });

  const answered = new Set(turnRecords.flatMap((record) => (record.type === 'result' ? [record.call] : [])));
  const open = calls.filter((call) => !answered.has(call.id));
  const mayRun = forced === undefined && mayRunCalls(last.finish);
  if (open.length > 0) return { do: 'calls', calls: open, mayRun, finish: last.finish };
  if (forced !== undefined) return stuck(forced);
  return ask(last, turnRecords, limits);
}

type Force = 'steps' | 'repeat' | 'bad-calls';

function ask(
  last: SessionRecordOf<'assistant'>,
  records: readonly SessionRecord[],
  limits: MoveLimits,
): Move {
  const isAllReasoning = judgeReply(last) === 'empty' && last.finish === 'length';
  return {
    do: 'ask',
    step: last.step + 1,
    mustAnswer: forcedBy(records, limits) !== undefined,
    maxTokens: limits.maxTokens * (isAllReasoning ? roomierTimes : 1),
  };
}

function afterText(
  last: SessionRecordOf<'assistant'>,
  {
    before,
    forced,
    limits,
  }: { before: readonly SessionRecord[]; forced: Force | undefined; limits: MoveLimits },
): Move {
  const verdict = judgeReply(last);
  if (verdict === 'answer')
    return forced === 'steps'
      ? { do: 'end', outcome: 'limit', limit: 'steps' }
      : { do: 'end', outcome: 'answer' };
  if (verdict === 'cut') return { do: 'end', outcome: 'limit', limit: 'tokens' };
  if (verdict === 'refused')
    return {
      do: 'end',
      outcome: 'refused',
      error: { code: 'model-refused', message: 'the model server withheld the answer (content_filter)' },
    };
  if (forced !== undefined) return stuck(forced);
  const isSecond = before.some(
    (record) => record.type === 'assistant' && ['leaked', 'empty'].includes(judgeReply(record)),
  );
  if (!isSecond) return ask(last, [...before, last], limits);
  if (verdict === 'empty' && last.finish === 'length')
    return { do: 'end', outcome: 'limit', limit: 'tokens' };
  return {
    do: 'end',
    outcome: 'error',
    error: {
      code: 'model-refused',
      message:
        verdict === 'empty'
          ? 'the model gave an empty reply twice'
          : 'the model wrote its tool calls as text twice, so none was run',
    },
  };
}

function stuck(forced: Force): Move {
  const why = {
    steps: 'used all its steps',
    repeat: 'made the same call again and again',
    'bad-calls': 'made only calls that cannot be run',
  }[forced];
  return {
    do: 'end',
    outcome: 'error',
    error: { code: 'model-loop', message: `the model ${why} and gave no answer when it had to` },
  };
}

/** Why the next reply has to be an answer, if it has to. */
function forcedBy(records: readonly SessionRecord[], limits: MoveLimits): Force | undefined {
  const replies = records.filter((record) => record.type === 'assistant');
  if (
    replies
      .flatMap(({ calls = [] }) => calls)
      .some((call) => repeatOf(call, records).times >= identicalCallsMax)
  )
    return 'repeat';
  const decided = new Set(records.flatMap((record) => (record.type === 'decision' ? [record.call] : [])));
  // Whatever may run is decided first, so a step without a decision had no call that could.
  const isBad = ({ calls = [] }: SessionRecordOf<'assistant'>) =>
    calls.length > 0 && !calls.some((call) => decided.has(call.id));
  if (replies.length >= limits.badStepsMax && replies.slice(-limits.badStepsMax).every(isBad))
    return 'bad-calls';
  return replies.length >= limits.stepsMax - 1 ? 'steps' : undefined;
}

/**
 * One turn as a state machine over the session's records: ask, judge, (check, decide, intent, run, result) for each
 * call, ask again, end. What it does next follows from the records alone, so running it on a turn that a crash broke
 * off goes on with that turn: no effect happens twice and every call gets one result.
 */
import { AppError, toAppError } from '../../../shared/errors.ts';
import type { SessionBody, ToolCall, Usage } from '../../../shared/protocol/sessions.ts';
import type { History } from '../session/history.ts';
import { askModel } from './ask.ts';
import { toToolCall } from './call-key.ts';
import { answerRest, runCalls } from './calls.ts';
import type { ModelReply, TurnEffects, TurnEnd } from './effects.ts';
import { nextMove, type Ending, type Move, type MoveLimits } from './next-move.ts';

export interface TurnLimits extends MoveLimits {
  readonly resultBytesMax: number;
  readonly loadingMsMax: number;
  /** After this, the time that the model took apart, no new step is begun. */
  readonly turnMsMax: number;
}

const defaultTurnLimits: TurnLimits = {
  stepsMax: 12,
  badStepsMax: 3,
  maxTokens: 1024,
  resultBytesMax: 8192,
  loadingMsMax: 300_000,
  turnMsMax: 1_800_000,
};

export interface TurnOptions {
  readonly effects: TurnEffects;
  readonly signal: AbortSignal;
  readonly limits?: Partial<TurnLimits>;
  /** What the model can read; asked anew before each step, since a server may come up meanwhile. */
  readonly contextTokens?: () => number | undefined;
  readonly nowMs?: () => number;
}

/**
 * Runs the newest turn of the session to its end, from wherever its records are.
 * @throws AppError session-write-failed, store-full: the end could not be recorded
 */
export async function runTurn(history: History, options: TurnOptions): Promise<TurnEnd> {
  const { effects, signal, nowMs = () => performance.now() } = options;
  const limits = { ...defaultTurnLimits, ...options.limits };
  const startedMs = nowMs();
  let askedMs = 0;
  const begun = begunCalls(history);
  for (;;) {
    const move = nextMove(history.current, limits);
    if (move.do === 'over') return endOf(history, move.end);
    if (move.do === 'end') return end(history, effects, move);
    const stop = stopOf({ signal, tookMs: nowMs() - startedMs - askedMs, limits });
    if (stop) return stopTurn(history, effects, { move, stop, begun, limits });
    try {
      if (move.do === 'calls')
        await runCalls(history, effects, { ...move, resultBytesMax: limits.resultBytesMax, begun, signal });
      else {
        const askingMs = nowMs();
        await takeStep(history, options, { move, limits });
        askedMs += nowMs() - askingMs;
      }
    } catch (thrown) {
      const error = toAppError(thrown);
      if (error.code === 'session-write-failed' || error.code === 'store-full') throw error;
      if (!signal.aborted)
        return stopTurn(history, effects, {
          move: nextMove(history.current, limits),
          stop: { do: 'end', outcome: 'error', error: { code: error.code, message: error.message } },
          begun,
          limits,
        });
    }
  }
}

/** Calls that were about to run, or ran, before this process: their outcome is not known. */
function begunCalls(history: History): Set<string> {
  const begun = new Set<string>();
  for (const record of history.current) {
    if (record.type === 'call') begun.add(record.call);
    else if (record.type === 'result') begun.delete(record.call);
  }
  return begun;
}

function stopOf({
  signal,
  tookMs,
  limits,
}: {
  signal: AbortSignal;
  tookMs: number;
  limits: TurnLimits;
}): Ending | undefined {
  if (signal.aborted) return { do: 'end', outcome: 'cancelled' };
  return tookMs > limits.turnMsMax ? { do: 'end', outcome: 'limit', limit: 'steps' } : undefined;
}

async function takeStep(
  history: History,
  { effects, signal, contextTokens }: TurnOptions,
  { move, limits }: { move: Move & { do: 'ask' }; limits: TurnLimits },
): Promise<void> {
  const { loadingMsMax } = limits;
  const reply = await askModel(history, effects, {
    ...move,
    contextTokens: contextTokens?.(),
    loadingMsMax,
    signal,
  });
  const body = assistantOf(reply, history.turn, move);
  const calls = body.calls ?? [];
  history.push(await effects.append(body, { sync: calls.length > 0 }));
  for (const call of calls) effects.emit({ type: 'call', call });
}

function assistantOf(
  reply: ModelReply,
  turn: number,
  { step, mustAnswer }: Move & { do: 'ask' },
): SessionBody & { type: 'assistant' } {
  const calls: ToolCall[] = reply.calls.map((call, index) => toToolCall(call, { turn, step, index }));
  // A reply that had to be an answer and is one stays one, whatever calls the model added to it.
  const isAnswer = mustAnswer && reply.text.trim() !== '';
  return {
    type: 'assistant',
    turn,
    step,
    text: reply.text,
    ...(reply.reasoning === '' ? {} : { reasoning: reply.reasoning }),
    ...(calls.length === 0 || isAnswer ? {} : { calls }),
    finish: reply.finish,
    usage: reply.usage,
  };
}

async function stopTurn(
  history: History,
  effects: TurnEffects,
  { move, stop, begun, limits }: { move: Move; stop: Ending; begun: ReadonlySet<string>; limits: TurnLimits },
): Promise<TurnEnd> {
  if (move.do === 'over') return endOf(history, move.end);
  if (move.do === 'calls') {
    const why =
      stop.outcome === 'cancelled' ? 'the turn was cancelled' : (stop.error?.message ?? 'its time was over');
    await answerRest(history, effects, {
      calls: move.calls,
      begun,
      resultBytesMax: limits.resultBytesMax,
      why,
    });
  }
  return end(history, effects, stop);
}

async function end(
  history: History,
  effects: TurnEffects,
  { outcome, error, limit }: Ending,
): Promise<TurnEnd> {
  const record = await effects.append(
    { type: 'end', turn: history.turn, outcome, ...(error ? { error } : {}), usage: usageOf(history) },
    { sync: true },
  );
  history.push(record);
  if (record.type !== 'end') throw new AppError('internal', 'the end of a turn came back as another record');
  const ended = { ...endOf(history, record), ...(limit ? { limit } : {}) };
  effects.emit({ type: 'end', ...ended });
  return ended;
}

/** How the newest turn ended, from its records. */
export function endOf(history: History, record: NonNullable<History['end']>): TurnEnd {
  const last = history.current.findLast((candidate) => candidate.type === 'assistant');
  const hasText = (record.outcome === 'answer' || record.outcome === 'limit') && last?.type === 'assistant';
  const isCut = last?.type === 'assistant' && last.finish === 'length';
  return {
    turn: record.turn,
    outcome: record.outcome,
    ...(record.error ? { error: record.error } : {}),
    ...(record.outcome === 'limit' ? { limit: isCut ? 'tokens' : 'steps' } : {}),
    usage: record.usage ?? {},
    text: hasText && !last.calls ? last.text : '',
  };
}

function usageOf(history: History): Usage {
  const sum: Record<string, number> = {};
  for (const record of history.current)
    if (record.type === 'assistant')
      for (const [name, count] of Object.entries(record.usage ?? {}))
        sum[name] = (sum[name] ?? 0) + Number(count);
  return sum;
}

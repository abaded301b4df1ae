/** The calls of one reply, in order: checked, decided, run, and each given exactly one result. */
import { AppError, toAppError } from '../../../shared/errors.ts';
import type { ResultStatus, ToolCall } from '../../../shared/protocol/sessions.ts';
import type { History } from '../session/history.ts';
import type { ToolOutcome } from '../tools/tool.ts';
import { capResult } from './cap-result.ts';
import type { TurnEffects } from './effects.ts';
import { identicalCallsMax, repeatedText, repeatOf } from './repeat.ts';

/** How long a cancelled tool gets to say how far it came. */
const cancelGraceMs = 20;

export interface CallOptions {
  readonly mayRun: boolean;
  readonly finish: string;
  readonly resultBytesMax: number;
  /** Calls that an earlier life of the daemon may have run. */
  readonly begun: ReadonlySet<string>;
  readonly signal: AbortSignal;
}

/** @throws AppError broker-unavailable, and whatever a write of a record throws */
export async function runCalls(
  history: History,
  effects: TurnEffects,
  { calls, ...options }: CallOptions & { calls: readonly ToolCall[] },
): Promise<void> {
  for (const call of calls) {
    if (options.signal.aborted) return;
    const outcome = await outcomeOf(call, { history, effects, options });
    if (outcome)
      await recordResult(history, effects, { call, ...outcome, resultBytesMax: options.resultBytesMax });
  }
}

/** Gives the calls that have none a result that says why. */
export async function answerRest(
  history: History,
  effects: TurnEffects,
  {
    calls,
    begun,
    resultBytesMax,
    why,
  }: { calls: readonly ToolCall[]; why: string } & Pick<CallOptions, 'begun' | 'resultBytesMax'>,
): Promise<void> {
  for (const call of calls) {
    const outcome = begun.has(call.id)
      ? { status: 'interrupted' as const, text: interrupted }
      : { status: 'cancelled' as const, text: `Not run: ${why}.` };
    await recordResult(history, effects, { call, ...outcome, resultBytesMax });
  }
}

const interrupted =
  'Interrupted: it may have happened or not. It was not repeated; look before you do it again.';

interface Outcome {
  status: ResultStatus;
  text: string;
}

interface Context {
  history: History;
  effects: TurnEffects;
  options: CallOptions;
}

/** undefined where the turn was cancelled before the call began. */
async function outcomeOf(call: ToolCall, context: Context): Promise<Outcome | undefined> {
  const { history, options } = context;
  const isBegun = options.begun.has(call.id);
  if (!options.mayRun) return { status: 'error', text: notRun(options.finish) };
  if (typeof call.arguments === 'string')
    return {
      status: 'error',
      text: `Not run: the arguments of ${call.name} are not a JSON object. Call it again with a JSON object.`,
    };
  // What may have run is judged by what its tool says of itself.
  if (isBegun && !(await isPrepared(call, context))) return undefined;
  const known = knownTool(call, context);
  if ('status' in known) return known;
  if (isBegun && known.effects === 'once') return { status: 'interrupted', text: interrupted };

  const { times, result } = repeatOf(call, history.current);
  const mayRepeat = known.isVolatile || (known.effects === 'none' && result?.status !== 'ok');
  if (result && !isBegun && (times >= identicalCallsMax || !mayRepeat))
    return { status: result.status, text: repeatedText(result, times) };

  if (!isBegun) {
    const verdict = await decide(call, context);
    if (verdict === undefined) return undefined;
    if (verdict.verdict === 'deny')
      return { status: 'denied', text: `Not permitted (${verdict.rule}). Do not try it again.` };
  }
  return begin(call, context, isBegun);
}

/** Runs what may run, with its intent on the disk where it has effects. */
async function begin(call: ToolCall, context: Context, isBegun: boolean): Promise<Outcome | undefined> {
  const { history, effects, options } = context;
  if (!(await isPrepared(call, context))) return undefined;
  const known = knownTool(call, context);
  if ('status' in known) return known;
  const key = keyOf(call, history);
  const hasEffects = known.effects !== 'none';
  if (hasEffects && !isBegun)
    history.push(
      await effects.append({ type: 'call', turn: history.turn, call: call.id, key }, { sync: true }),
    );
  if (options.signal.aborted) return { status: 'cancelled', text: 'Not run: the turn was cancelled.' };
  effects.emit({ type: 'call-status', call: call.id, status: 'running' });
  return run(call, context, { key, hasEffects });
}

/**
 * As it was recorded, if it was. The time at which the turn was accepted keeps it apart from a forgotten turn of the
 * same number, whose keys others still remember.
 */
function keyOf({ id }: ToolCall, { session, current }: History): string {
  const recorded = current.find((record) => record.type === 'call' && record.call === id);
  if (recorded?.type === 'call') return recorded.key;
  return `${session.id}/${id}/${Date.parse(current[0]?.at ?? '')}`;
}

/** False where the turn was cancelled meanwhile. */
async function isPrepared(call: ToolCall, { effects, options: { signal } }: Context): Promise<boolean> {
  return (await orAborted(effects.prepare(call), signal)) !== aborted;
}

/** What the tool does to the world, or why the call cannot be run. */
function knownTool({ name, arguments: args }: ToolCall, { effects, history }: Context) {
  const given = typeof args === 'string' ? {} : args;
  const known = effects.effectsOf(name, given);
  const wrong = known ? effects.check(name, given) : unknownTool(name, history);
  return known && wrong === undefined ? known : { status: 'error' as const, text: `Not run: ${wrong}` };
}

async function decide(call: ToolCall, { history, effects, options }: Context) {
  const { turn } = history;
  const earlier = history.current.find((record) => record.type === 'decision' && record.call === call.id);
  if (earlier?.type === 'decision') return earlier;
  const decision = await orAborted(effects.decide(call, turn, options.signal), options.signal);
  if (decision === aborted) return undefined;
  history.push(await effects.append({ type: 'decision', turn, call: call.id, ...decision }, { sync: false }));
  return decision;
}

async function run(
  call: ToolCall,
  { history, effects, options }: Context,
  { key, hasEffects }: { key: string; hasEffects: boolean },
): Promise<Outcome> {
  const { signal } = options;
  const context = { session: history.session.id, turn: history.turn, call: call.id, key, signal };
  const running = Promise.resolve()
    .then(() => effects.run(call, context))
    .catch((thrown: unknown): ToolOutcome => failed(call, toAppError(thrown)));
  const outcome = await orAborted(running, signal);
  if (outcome !== aborted) return outcome;
  const late = await Promise.race([
    running,
    effects.sleep(cancelGraceMs, AbortSignal.any([])).then(() => undefined),
  ]);
  if (late) return late;
  return hasEffects
    ? { status: 'interrupted', text: interrupted }
    : { status: 'cancelled', text: 'Stopped: the turn was cancelled.' };
}

async function recordResult(
  history: History,
  effects: TurnEffects,
  { call, status, text, resultBytesMax }: Outcome & { call: ToolCall; resultBytesMax: number },
): Promise<void> {
  const capped = capResult(text, resultBytesMax);
  const { turn } = history;
  // No sync of its own: if it is lost, so is whatever was built on it, and the call is taken up again.
  history.push(
    await effects.append({ type: 'result', turn, call: call.id, status, ...capped }, { sync: false }),
  );
  effects.emit({ type: 'call-status', call: call.id, status, text: capped.text });
}

const aborted = Symbol('aborted');

async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | typeof aborted> {
  if (signal.aborted) {
    work.catch(() => undefined);
    return aborted;
  }
  let onAbort = () => {};
  const stop = new Promise<typeof aborted>((resolve) => {
    onAbort = () => resolve(aborted);
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work, stop]);
  } catch (error) {
    if (signal.aborted) return aborted;
    throw error;
  } finally {
    signal.removeEventListener('abort', onAbort);
    work.catch(() => undefined);
  }
}

function failed(call: ToolCall, error: AppError): ToolOutcome {
  return { status: 'error', text: `${call.name} failed: ${error.message}` };
}

function notRun(finish: string): string {
  return finish === 'length'
    ? 'Not run: the reply was cut at its limit of tokens, so the call may not be whole. Make it shorter, or split it.'
    : 'Not run: no more calls are possible in this turn.';
}

function unknownTool(name: string, history: History): string {
  const names = history.session.baseline.tools.map((tool) => tool.function.name);
  return `there is no tool ${JSON.stringify(name)} here. There are: ${names.join(', ')}.`;
}

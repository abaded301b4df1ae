/** One step of the model, asked until there is a whole reply or a reason why there is none. */
import { AppError, toAppError } from '../../../shared/errors.ts';
import type { History } from '../session/history.ts';
import { promptMessages } from '../session/prompt.ts';
import type { ModelReply, ModelRequest, TurnEffects } from './effects.ts';
import { isNearlyFull, planCompaction, promptTokens, type Room } from './overflow.ts';
import { loadingPollMs, retryDelaysMs, retryOf } from './retry.ts';
import { truncationOf } from './truncation.ts';

export interface AskOptions {
  readonly step: number;
  readonly mustAnswer: boolean;
  readonly maxTokens: number;
  /** What the model can read, where that is known. */
  readonly contextTokens: number | undefined;
  /** How long a server may load its model. */
  readonly loadingMsMax: number;
  readonly signal: AbortSignal;
}

/** @throws AppError what the turn ends with; when `signal` is aborted, anything */
export async function askModel(
  history: History,
  effects: TurnEffects,
  options: AskOptions,
): Promise<ModelReply> {
  const { step, signal, maxTokens, contextTokens } = options;
  if (contextTokens !== undefined && isNearlyFull(history, { contextTokens, maxTokens }))
    await compact(history, effects, { contextTokens, maxTokens });
  let isShortened = false;
  let waitedMs = 0;
  for (let attempt = 0; ;) {
    let isShown = false;
    try {
      const request = requestOf(history, options, attempt);
      const reply = await effects.ask(
        request,
        (delta) => {
          if (signal.aborted) return;
          if (delta.type === 'state') return effects.emit(delta);
          isShown = true;
          effects.emit({ ...delta, step });
        },
        signal,
      );
      const truncation = truncationOf(history, reply.usage.prompt_tokens);
      if (truncation !== undefined) throw new AppError('model-refused', truncation);
      return reply;
    } catch (thrown) {
      const error = toAppError(thrown);
      if (signal.aborted) throw error;
      if (isShown) effects.emit({ type: 'reset', step, why: error.message });
      const retry = retryOf(error);
      if (retry === 'overflow' && !isShortened) {
        isShortened = true;
        if (!(await compact(history, effects, roomOf(history, error, options)))) throw error;
      } else if (retry === 'loading' && waitedMs < options.loadingMsMax) {
        effects.emit({ type: 'state', state: 'waiting-model' });
        await effects.sleep(loadingPollMs, signal);
        waitedMs += loadingPollMs;
      } else if (retry === 'again' && attempt < retryDelaysMs.length) {
        await effects.sleep(retryDelaysMs[attempt]!, signal);
        attempt += 1;
      } else throw error;
      if (signal.aborted) throw error;
    }
  }
}

/** The request that the records call for; the same records make the same bytes. */
function requestOf(
  history: History,
  { step, mustAnswer, maxTokens }: Pick<AskOptions, 'step' | 'mustAnswer' | 'maxTokens'>,
  attempt = 0,
): ModelRequest {
  return {
    messages: promptMessages(history),
    tools: history.session.baseline.tools,
    // The tools stay in the request: without them the prompt would be another one, and nothing of it in the cache.
    toolChoice: mustAnswer ? 'none' : 'auto',
    maxTokens,
    seed: history.turn * 1000 + step * 10 + attempt,
  };
}

/** The room in tokens as we count them: the server's own count of this prompt says how far ours is off. */
function roomOf(history: History, { details }: AppError, { maxTokens, contextTokens }: AskOptions): Room {
  const counted = promptTokens(history);
  const { n_ctx: context, n_prompt_tokens: prompt } = details;
  const told = typeof context === 'number' ? context : (contextTokens ?? counted);
  const scale = typeof prompt === 'number' && prompt > 0 ? Math.min(1, counted / prompt) : 1;
  return { maxTokens: Math.ceil(maxTokens * scale), contextTokens: Math.floor(told * scale) };
}

async function compact(history: History, effects: TurnEffects, room: Room): Promise<boolean> {
  const plan = planCompaction(history, room);
  if (!plan) return false;
  history.push(await effects.append({ type: 'compact', up_to: plan.upTo, text: plan.text }, { sync: true }));
  effects.emit({ type: 'compacted', upTo: plan.upTo });
  return true;
}

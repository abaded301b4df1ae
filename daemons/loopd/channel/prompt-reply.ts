/** The end of a turn as the answer to its prompt: a stop reason, or an error with the turn's code. */
import type { PromptResponse, StopReason } from '@agentclientprotocol/sdk';
import { AppError, errorKinds, type ErrorCode } from '../../../shared/errors.ts';
import type { TurnEnd } from '../turn/effects.ts';
import type { TurnResult } from './past-turn.ts';

/** @throws AppError the code that the turn ended with */
export function promptReply({ end, report }: TurnResult, modelKind: string): PromptResponse {
  const { turn, usage, outcome, error } = end;
  const meta = { turn, ...report, usage, model: modelKind };
  if (outcome === 'error') {
    const { code = 'internal', message = 'the turn ended with an error' } = error ?? {};
    const known = Object.hasOwn(errorKinds, code) ? (code as ErrorCode) : 'internal';
    throw new AppError(known, message, { details: meta });
  }
  const refusal = error === undefined ? {} : { error };
  return { stopReason: stopReasonOf(end), _meta: { ...meta, ...refusal } };
}

function stopReasonOf({ outcome, limit }: TurnEnd): StopReason {
  switch (outcome) {
    case 'cancelled':
      return 'cancelled';
    case 'limit':
      return limit === 'tokens' ? 'max_tokens' : 'max_turn_requests';
    case 'refused':
      return 'refusal';
    default:
      return 'end_turn';
  }
}

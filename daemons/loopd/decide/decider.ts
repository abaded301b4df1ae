/** Who decides on a call: the outside broker where there is one, else the policy, which may ask a person. */
import type { ToolCall } from '../../../shared/protocol/sessions.ts';
import type { CallTarget } from '../tools/call-tool.ts';
import type { Decision } from '../turn/effects.ts';
import type { Broker } from './broker.ts';
import type { Policy } from './policy.ts';

/** A call that waits for its decision. */
export interface Question {
  readonly session: string;
  readonly turn: number;
  readonly call: ToolCall;
  readonly target: CallTarget;
}

/** Puts the question to whoever watches the session; never rejects. */
export type AskPerson = (question: Question, signal: AbortSignal) => Promise<Decision>;

export interface Deciders {
  /** Read anew for each call: it may be reloaded. */
  readonly policy: () => Policy;
  readonly broker?: Broker;
}

/** @throws AppError broker-unavailable */
export async function decide(
  { policy, broker }: Deciders,
  question: Question,
  { ask, signal }: { ask: AskPerson; signal: AbortSignal },
): Promise<Decision> {
  const { session, turn, call, target } = question;
  if (broker !== undefined) {
    const { name, arguments: args } = target;
    return broker.decide({ session, turn, call: call.id, tool: name, arguments: args }, signal);
  }
  const { verdict, rule } = policy().ruling(target.name, target.isCore);
  if (verdict !== 'ask') return { verdict, rule };
  const answer = await ask(question, signal);
  return { verdict: answer.verdict, rule: `${rule}; ${answer.rule}` };
}

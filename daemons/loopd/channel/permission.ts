/** Asks the clients that watch a session whether a call may run; without a clear yes it may not. */
import type {
  PermissionOption,
  RequestPermissionRequest,
  RequestPermissionResponse,
} from '@agentclientprotocol/sdk';
import type { Question } from '../decide/decider.ts';
import type { Decision } from '../turn/effects.ts';
import { callTitle } from './updates.ts';

/** A client that can be asked. */
export interface Askable {
  ask(request: RequestPermissionRequest, signal: AbortSignal): Promise<RequestPermissionResponse>;
}

const options = [
  { optionId: 'allow', name: 'Allow once', kind: 'allow_once' },
  { optionId: 'allow-session', name: 'Always allow in this session', kind: 'allow_always' },
  { optionId: 'deny', name: 'Deny', kind: 'reject_once' },
] as const satisfies PermissionOption[];
type OptionId = (typeof options)[number]['optionId'];

interface AskOptions {
  readonly clients: readonly Askable[];
  readonly waitMs: number;
  readonly signal: AbortSignal;
  /** Tools that a person allowed for the rest of the session; added to. */
  readonly allowed: Set<string>;
}

/** The first answer counts, and the other clients are told that it is no longer asked. Never rejects. */
export async function askPermission(
  question: Question,
  { clients, waitMs, signal, allowed }: AskOptions,
): Promise<Decision> {
  const { name } = question.target;
  if (allowed.has(name)) return { verdict: 'allow', rule: 'person: allowed for this session' };
  if (clients.length === 0) return { verdict: 'deny', rule: 'ask: no client was there to be asked' };
  const settled = new AbortController();
  const late = AbortSignal.timeout(waitMs);
  const over = AbortSignal.any([signal, late, settled.signal]);
  const answers = clients.map((client) => answerOf(client, requestOf(question), over));
  const aborted = new Promise<undefined>((resolve) =>
    over.addEventListener('abort', () => resolve(undefined), { once: true }),
  );
  try {
    const chosen = await Promise.race([Promise.any(answers).catch(() => undefined), aborted]);
    if (chosen === undefined) return { verdict: 'deny', rule: noAnswer({ signal, late, waitMs }) };
    if (chosen === 'allow-session') allowed.add(name);
    return chosen === 'deny'
      ? { verdict: 'deny', rule: 'person: denied' }
      : { verdict: 'allow', rule: 'person: allowed' };
  } finally {
    settled.abort();
  }
}

function noAnswer({
  signal,
  late,
  waitMs,
}: {
  signal: AbortSignal;
  late: AbortSignal;
  waitMs: number;
}): string {
  if (signal.aborted) return 'ask: the turn was cancelled';
  return late.aborted ? `ask: no answer within ${waitMs} ms` : 'ask: no client answered';
}

/** Rejects where the client gave no answer. */
async function answerOf(
  client: Askable,
  request: RequestPermissionRequest,
  signal: AbortSignal,
): Promise<OptionId> {
  const { outcome } = await client.ask(request, signal);
  if (outcome.outcome !== 'selected') return 'deny';
  const option = options.find(({ optionId }) => optionId === outcome.optionId);
  if (option === undefined) throw new Error(`no such option: ${outcome.optionId}`);
  return option.optionId;
}

function requestOf({ session, call, target }: Question): RequestPermissionRequest {
  return {
    sessionId: session,
    toolCall: {
      toolCallId: call.id,
      title: target.isCore ? callTitle(call) : `Allow ${target.name}?`,
      name: call.name,
      status: 'pending',
      rawInput: target.arguments,
    },
    options: [...options],
    _meta: { tool: target.name },
  };
}

/** The protocol's methods, each answered by a part of the channel; what goes wrong leaves here with its code. */
import { agent, type AgentApp, type AgentRequestContext } from '@agentclientprotocol/sdk';
import type { AppError } from '../../../shared/errors.ts';
import { toRequestError } from './error-reply.ts';
import type { Watcher } from './live-session.ts';
import {
  closeSession,
  deleteSession,
  initialize,
  listSessions,
  loadSession,
  newSession,
  prompt,
  resumeSession,
  type ChannelParts,
} from './requests.ts';

export interface AgentParts extends ChannelParts {
  /** Methods of our own, by name. */
  readonly extensions: Readonly<Record<string, (params: unknown) => Promise<unknown>>>;
  /** Hears each error that is answered, so that faults are counted and bugs are logged. */
  readonly onError: (error: AppError, method: string) => void;
}

const anyParams = (params: unknown): unknown => params ?? {};

/** The agent's side of one connection. */
export function createAgent(parts: AgentParts, client: Watcher): AgentApp {
  const answered = <P, R>(handle: (params: P, signal: AbortSignal) => Promise<R>) => {
    return async ({ method, params, signal }: AgentRequestContext<P>): Promise<R> => {
      try {
        return await handle(params, signal);
      } catch (thrown) {
        throw toRequestError(thrown, (error) => parts.onError(error, method));
      }
    };
  };
  const app = agent({ name: 'loopd' })
    // With a parser of its own it is no gate: a program may ask for one thing without a handshake.
    .onRequest(
      'initialize',
      anyParams,
      answered(() => initialize(parts)),
    )
    .onRequest(
      'session/new',
      answered((params) => newSession(parts, params, client)),
    )
    .onRequest(
      'session/load',
      answered((params) => loadSession(parts, params, client)),
    )
    .onRequest(
      'session/resume',
      answered((params) => resumeSession(parts, params, client)),
    )
    .onRequest(
      'session/prompt',
      answered((params, signal) => prompt(parts, params, { client, signal })),
    )
    // After the prompt: the SDK looks for handlers in this order, and a cancel must not overtake its prompt.
    .onNotification('session/cancel', ({ params }) => parts.live.known(params.sessionId)?.cancel())
    .onRequest(
      'session/list',
      answered((params) => listSessions(parts, params)),
    )
    .onRequest(
      'session/close',
      answered((params) => closeSession(parts, params, client)),
    )
    .onRequest(
      'session/delete',
      answered((params) => deleteSession(parts, params)),
    );
  for (const [method, handle] of Object.entries(parts.extensions))
    app.onRequest(method, anyParams, answered(handle));
  return app;
}

/** What answers a turn: a model server, or the fixed responder. */
import type { ModelDelta, ModelReply, ModelRequest } from '../turn/effects.ts';

export interface AskContext {
  /** Decides which part of the server's cache is used; the same for every request of a session. */
  readonly session: string;
  readonly onDelta: (delta: ModelDelta) => void;
  readonly signal: AbortSignal;
}

export interface ModelHealth {
  /** A server answering is no proof that it can answer a prompt. */
  readonly state: 'ready' | 'loading' | 'unreachable';
  readonly contextTokens?: number;
  readonly slots?: number;
  /** What an operator should know: a context that is small, a template without tools. */
  readonly warnings: readonly string[];
}

export interface Model {
  readonly kind: 'openai' | 'builtin';
  /** As the session record names it. */
  readonly name: string;
  /** @throws AppError model-unavailable, model-refused, context-full, with `details.retry` */
  ask(request: ModelRequest, context: AskContext): Promise<ModelReply>;
  /** A request beside the sessions; undefined where it would push a session out of the server's cache. */
  aside(request: ModelRequest, signal: AbortSignal): Promise<ModelReply | undefined>;
  /** What the model can read, where that is known yet. */
  contextTokens(): number | undefined;
  health(signal: AbortSignal): Promise<ModelHealth>;
  /** A session was closed: its place in the cache may go to another. */
  release(session: string): void;
  close(): void;
}

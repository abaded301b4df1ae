/** Everything a turn does to the world, passed in: the loop itself knows no socket, no file and no model server. */
import type {
  SessionBody,
  SessionRecord,
  ToolCall,
  ToolDefinition,
  TurnOutcome,
  Usage,
} from '../../../shared/protocol/sessions.ts';
import type { ToolContext, ToolEffects, ToolOutcome } from '../tools/tool.ts';

/** One message of an OpenAI-compatible request. */
export type ModelMessage =
  | { role: 'system' | 'user'; content: string }
  | {
      role: 'assistant';
      content: string;
      reasoning_content?: string;
      tool_calls?: { id: string; type: 'function'; function: { name: string; arguments: string } }[];
    }
  | { role: 'tool'; tool_call_id: string; content: string };

/** A request to a model; a pure function of the session's records. */
export interface ModelRequest {
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ToolDefinition[];
  readonly toolChoice: 'auto' | 'none';
  readonly maxTokens: number;
  /** Changed on a retry after unusable output. */
  readonly seed: number;
}

/** A whole step of the model: only a finished one is ever returned. Faults are AppErrors. */
export interface ModelReply {
  readonly text: string;
  readonly reasoning: string;
  /** `arguments` is the raw text that the model wrote. */
  readonly calls: readonly { readonly name: string; readonly arguments: string }[];
  readonly finish: string;
  readonly usage: Usage;
}

/** Where a request to the model stands; `done` of `total` prompt tokens while it reads. */
interface ModelState {
  type: 'state';
  state: 'queued' | 'reading' | 'writing' | 'waiting-model';
  done?: number;
  total?: number;
}

/** What a model says of a step before the step is whole. */
export type ModelDelta = { type: 'text' | 'thought'; delta: string } | ModelState;

export type TurnEvent =
  | { type: 'text' | 'thought'; step: number; delta: string }
  | { type: 'reset'; step: number; why: string }
  | ModelState
  | { type: 'call'; call: ToolCall }
  | {
      type: 'call-status';
      call: string;
      status: 'running' | 'ok' | 'error' | 'denied' | 'cancelled' | 'interrupted';
      text?: string;
    }
  | { type: 'compacted'; upTo: number }
  | ({ type: 'end' } & TurnEnd);

/** How a turn ended, and the whole text of its answer. */
export interface TurnEnd {
  readonly turn: number;
  readonly outcome: TurnOutcome;
  readonly error?: { code: string; message: string };
  /** With the outcome `limit`: which one. */
  readonly limit?: 'steps' | 'tokens';
  readonly usage: Usage;
  readonly text: string;
}

export interface Decision {
  readonly verdict: 'allow' | 'deny';
  readonly rule: string;
}

export interface TurnEffects {
  /** Streams deltas to `onDelta` while it runs; rejects with an AppError when there is no whole reply. */
  ask(request: ModelRequest, onDelta: (delta: ModelDelta) => void, signal: AbortSignal): Promise<ModelReply>;
  /** Rejects with `broker-unavailable` when nobody could decide; `signal` says that the turn was cancelled. */
  decide(call: ToolCall, turn: number, signal: AbortSignal): Promise<Decision>;
  /**
   * Finds out what a call would run, where that has to be asked of a server first: then `effectsOf` and `check` know
   * it. Never rejects; may take as long as a server takes to start.
   */
  prepare(call: ToolCall): Promise<void>;
  /** undefined where there is no such tool in this session; a tool that calls others may look at its arguments. */
  effectsOf(
    name: string,
    args: Record<string, unknown>,
  ): { effects: ToolEffects; isVolatile: boolean } | undefined;
  /** What is wrong with the arguments, or undefined. */
  check(name: string, args: Record<string, unknown>): string | undefined;
  /** Keeps the time limit of the tool; `context.signal` is the turn's. */
  run(call: ToolCall, context: ToolContext): Promise<ToolOutcome>;
  /** Returns when the record is in the file, with `sync` when it is on the disk. */
  append(body: SessionBody, options: { sync: boolean }): Promise<SessionRecord>;
  emit(event: TurnEvent): void;
  /** Milliseconds; a test passes its own. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

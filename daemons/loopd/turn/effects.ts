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

export type TurnEvent =
  | { type: 'text' | 'thought'; step: number; delta: string }
  | { type: 'reset'; step: number; why: string }
  | {
      type: 'state';
      state: 'queued' | 'reading' | 'writing' | 'waiting-model';
      done?: number;
      total?: number;
    }
  | { type: 'call'; call: ToolCall }
  | {
      type: 'call-status';
      call: string;
      status: 'running' | 'ok' | 'error' | 'denied' | 'cancelled' | 'interrupted';
      text?: string;
    }
  | { type: 'compacted'; upTo: number }
  | {
      type: 'end';
      outcome: TurnOutcome;
      error?: { code: string; message: string };
      usage: Usage;
      text: string;
    };

export interface Decision {
  readonly verdict: 'allow' | 'deny';
  readonly rule: string;
}

export interface TurnEffects {
  /** Streams deltas to `onDelta` while it runs; rejects with an AppError when there is no whole reply. */
  ask(request: ModelRequest, onDelta: (event: TurnEvent) => void, signal: AbortSignal): Promise<ModelReply>;
  /** Rejects with `broker-unavailable` when nobody could decide. */
  decide(call: ToolCall, turn: number): Promise<Decision>;
  /** undefined where there is no such tool in this session. */
  effectsOf(name: string): { effects: ToolEffects; isVolatile: boolean } | undefined;
  /** What is wrong with the arguments, or undefined. */
  check(name: string, args: Record<string, unknown>): string | undefined;
  run(call: ToolCall, context: ToolContext): Promise<ToolOutcome>;
  /** Returns when the record is in the file, with `sync` when it is on the disk. */
  append(body: SessionBody, options: { sync: boolean }): Promise<SessionRecord>;
  emit(event: TurnEvent): void;
  /** Milliseconds; a test passes its own. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

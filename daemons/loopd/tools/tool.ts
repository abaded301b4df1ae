/** What a tool is to the turn loop: its definition for the model, what running it does to the world, and the function. */
import type { ToolDefinition } from '../../../shared/protocol/sessions.ts';

/**
 * `none`: reads only, may run again after a crash. `keyed`: remembers its key, so the same key does it once.
 * `once`: an effect that nobody can take back or recognise; never repeated when its outcome is unknown.
 */
export type ToolEffects = 'none' | 'keyed' | 'once';

export interface ToolContext {
  readonly session: string;
  readonly turn: number;
  readonly call: string;
  /** Stable for this call, across restarts, and no other call's. */
  readonly key: string;
  /** Aborted when the turn is cancelled or the tool's time is over. */
  readonly signal: AbortSignal;
}

export interface ToolOutcome {
  readonly status: 'ok' | 'error';
  readonly text: string;
}

export interface Tool {
  readonly definition: ToolDefinition;
  readonly effects: ToolEffects;
  /** Gives another answer each time (a clock), so an identical call runs again; it still counts as a repeat. */
  readonly isVolatile?: boolean;
  readonly timeoutMs: number;
  /** What is wrong with the arguments, as a sentence that helps; undefined where they will do. */
  check?(args: Record<string, unknown>): string | undefined;
  /** Never throws for what the model did wrong: that is an `error` outcome with a sentence that helps. */
  run(args: Record<string, unknown>, context: ToolContext): Promise<ToolOutcome>;
}

/**
 * The records of a session log, `<home>/sessions/<id>.jsonl`: one JSON object a line, LF, UTF-8, appended, never
 * rewritten but for forgetting. loopd alone writes them; memoryd reads them. `seq` counts 0, 1, 2, … without gaps.
 */

export const sessionIdPattern = '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$';
const sessionId = new RegExp(sessionIdPattern);

export function isSessionId(id: string): boolean {
  return sessionId.test(id);
}

export const sessionLogSuffix = '.jsonl';
/** The version that this code writes; a reader refuses none, since later fields are optional. */
export const sessionRecordVersion = 1;

export type Origin = 'person' | 'schedule' | 'agent';

/** A tool as an OpenAI-compatible request carries it. */
export interface ToolDefinition {
  readonly type: 'function';
  readonly function: { readonly name: string; readonly description: string; readonly parameters: object };
}

export interface Baseline {
  readonly system: string;
  readonly tools: readonly ToolDefinition[];
  /** sha256 of the block that went in, lower-case hex. */
  readonly version: string;
  /** An estimate that errs high, of system and tools together. */
  readonly tokens: number;
}

export interface Usage {
  readonly prompt_tokens?: number;
  readonly completion_tokens?: number;
  readonly cached_tokens?: number;
}

/** A call that the model made; `arguments` is the raw string where it does not parse to an object. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: Record<string, unknown> | string;
}

interface Line {
  readonly v: number;
  readonly seq: number;
  /** RFC 3339, milliseconds, UTC. */
  readonly at: string;
}

export type ResultStatus = 'ok' | 'error' | 'denied' | 'cancelled' | 'interrupted';
export type TurnOutcome = 'answer' | 'cancelled' | 'limit' | 'refused' | 'error';

export interface SessionBodies {
  session: { id: string; origin: Origin; title?: string; model: string; baseline: Baseline };
  turn: { turn: number; text: string; name?: string; ref?: string; request_id?: string };
  assistant: {
    turn: number;
    step: number;
    text: string;
    name?: string;
    ref?: string;
    reasoning?: string;
    calls?: ToolCall[];
    finish: string;
    usage?: Usage;
  };
  decision: { turn: number; call: string; verdict: 'allow' | 'deny'; rule: string };
  call: { turn: number; call: string; key: string };
  result: { turn: number; call: string; status: ResultStatus; text: string; bytes: number; cut?: boolean };
  title: { title: string };
  compact: { up_to: number; text: string };
  end: { turn: number; outcome: TurnOutcome; error?: { code: string; message: string }; usage?: Usage };
}

export type SessionRecordType = keyof SessionBodies;
export type SessionBody = { [T in SessionRecordType]: { type: T } & SessionBodies[T] }[SessionRecordType];
export type SessionRecord = Line & SessionBody;
export type SessionRecordOf<T extends SessionRecordType> = Line & { type: T } & SessionBodies[T];

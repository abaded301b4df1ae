/** A session in memory whose model says what a test wrote down, for tests of the turn loop. */
import assert from 'node:assert/strict';
import { AppError } from '../../../shared/errors.ts';
import type { Baseline, SessionBody, SessionRecord, ToolCall } from '../../../shared/protocol/sessions.ts';
import { History } from '../session/history.ts';
import type { ToolContext, ToolEffects, ToolOutcome } from '../tools/tool.ts';
import type { Decision, ModelReply, ModelRequest, TurnEffects, TurnEvent } from '../turn/effects.ts';
import { runTurn, type TurnOptions } from '../turn/turn.ts';

export interface ScriptedTool {
  readonly effects?: ToolEffects;
  readonly isVolatile?: boolean;
  readonly required?: readonly string[];
  run?(args: Record<string, unknown>, context: ToolContext): ToolOutcome | Promise<ToolOutcome>;
}

/** A reply, an error that there is instead of one, or a function of the request. */
export type ScriptedStep =
  | Partial<ModelReply>
  | AppError
  | ((request: ModelRequest, signal: AbortSignal) => Partial<ModelReply> | Promise<Partial<ModelReply>>);

export const scriptedBaseline: Baseline = {
  system: 'You are the assistant of one person.\n\nMemory:\n- likes tea',
  tools: ['look', 'note', 'send', 'clock'].map((name) => ({
    type: 'function',
    function: { name, description: `The tool ${name}.`, parameters: { type: 'object' } },
  })),
  version: '0'.repeat(64),
  tokens: 80,
};

export function calls(...made: [name: string, args?: unknown][]): Partial<ModelReply> {
  return {
    finish: 'tool_calls',
    calls: made.map(([name, args = {}]) => ({
      name,
      arguments: typeof args === 'string' ? args : JSON.stringify(args),
    })),
  };
}

const defaultTools: Record<string, ScriptedTool> = {
  look: { run: (args) => ({ status: 'ok', text: `seen ${JSON.stringify(args)}` }) },
  note: { effects: 'keyed' },
  send: { effects: 'once' },
  clock: { isVolatile: true },
};

export class ScriptedSession {
  readonly records: SessionRecord[] = [];
  readonly synced: SessionRecord[] = [];
  readonly events: TurnEvent[] = [];
  readonly requests: ModelRequest[] = [];
  readonly ran: { name: string; key: string }[] = [];
  readonly sleeps: number[] = [];
  history = new History();
  decide: (call: ToolCall) => Decision | Promise<Decision> = () => ({ verdict: 'allow', rule: 'test' });
  prepare: (call: ToolCall) => void | Promise<void> = () => {};
  readonly #steps: ScriptedStep[];
  readonly #tools: Record<string, ScriptedTool>;

  constructor(
    steps: ScriptedStep[],
    tools: Record<string, ScriptedTool> = defaultTools,
    baseline = scriptedBaseline,
  ) {
    this.#steps = steps;
    this.#tools = tools;
    this.write({ type: 'session', id: 's1', origin: 'person', model: 'scripted', baseline });
  }

  write(body: SessionBody): SessionRecord {
    const record: SessionRecord = { v: 1, seq: this.records.length, at: '2026-01-01T00:00:00.000Z', ...body };
    // As it would come back from the file.
    const read = JSON.parse(JSON.stringify(record)) as SessionRecord;
    this.records.push(read);
    this.history.push(read);
    return read;
  }

  say(text: string): void {
    this.write({ type: 'turn', turn: this.history.turn + 1, text });
  }

  /** As after a restart: nothing is left but the records. */
  restart(): void {
    this.history = new History(this.records);
  }

  run(options: Partial<Omit<TurnOptions, 'effects'>> = {}) {
    return runTurn(this.history, { signal: AbortSignal.any([]), ...options, effects: this.effects });
  }

  ask(text: string, options: Partial<Omit<TurnOptions, 'effects'>> = {}) {
    this.say(text);
    return this.run(options);
  }

  ofType<T extends SessionRecord['type']>(type: T) {
    return this.records.filter(
      (record): record is Extract<SessionRecord, { type: T }> => record.type === type,
    );
  }

  readonly effects: TurnEffects = {
    ask: async (request, onDelta, signal) => {
      // The bytes, not the objects: a later change of either would not be seen.
      this.requests.push(JSON.parse(JSON.stringify(request)) as ModelRequest);
      const next = this.#steps.shift();
      if (next === undefined) throw new Error('the script is over');
      if (next instanceof AppError) {
        const { shown } = next.details;
        if (typeof shown === 'string') onDelta({ type: 'text', delta: shown });
        throw next;
      }
      const said = typeof next === 'function' ? await next(request, signal) : next;
      if (said.text) onDelta({ type: 'text', delta: said.text });
      return { text: '', reasoning: '', calls: [], finish: 'stop', usage: {}, ...said };
    },
    decide: async (call) => this.decide(call),
    prepare: async (call) => this.prepare(call),
    effectsOf: (name) => {
      const tool = this.#tools[name];
      return tool && { effects: tool.effects ?? 'none', isVolatile: tool.isVolatile ?? false };
    },
    check: (name, args) => {
      const missing = this.#tools[name]?.required?.find((field) => !(field in args));
      return missing === undefined ? undefined : `${name} needs ${missing}.`;
    },
    run: async (call, context) => {
      this.ran.push({ name: call.name, key: context.key });
      const args = call.arguments as Record<string, unknown>;
      return (
        (await this.#tools[call.name]?.run?.(args, context)) ?? { status: 'ok', text: `did ${call.name}` }
      );
    },
    append: async (body, { sync }) => {
      const record = this.write(body);
      if (sync) this.synced.push(record);
      return record;
    },
    emit: (event) => void this.events.push(event),
    sleep: async (ms) => void this.sleeps.push(ms),
  };
}

/** Every call has one result, in the records and in each prompt, and nothing that does not parse is sent back. */
export function checkHistory({ records, requests }: ScriptedSession) {
  const made = records.flatMap((record) => (record.type === 'assistant' ? (record.calls ?? []) : []));
  for (const { id } of made)
    assert.equal(records.filter((record) => record.type === 'result' && record.call === id).length, 1, id);
  for (const { messages } of requests) {
    const sent = messages.flatMap((message) =>
      message.role === 'assistant' ? (message.tool_calls ?? []) : [],
    );
    for (const call of sent) {
      assert.equal(typeof JSON.parse(call.function.arguments), 'object');
      assert.equal(messages.filter((m) => m.role === 'tool' && m.tool_call_id === call.id).length, 1);
    }
    const roles = messages.map(({ role }) => role).join(' ');
    assert.doesNotMatch(roles, /user user|assistant assistant/);
  }
}

export async function runScript(steps: ScriptedStep[], text = 'hello') {
  const session = new ScriptedSession(steps);
  const end = await session.ask(text);
  checkHistory(session);
  return { session, end };
}

export async function collected<T>(values: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const value of values) all.push(value);
  return all;
}

/** What happens in a turn, live or from its records, as the protocol's session updates. */
import type { SessionUpdate, ToolCallContent, ToolKind } from '@agentclientprotocol/sdk';
import type { ErrorCode } from '../../../shared/errors.ts';
import type { ResultStatus, SessionRecord, ToolCall } from '../../../shared/protocol/sessions.ts';
import { clipLine } from '../tools/clip.ts';
import type { TurnEvent } from '../turn/effects.ts';

const kinds: Readonly<Record<string, ToolKind>> = {
  clock: 'read',
  recall: 'search',
  memory: 'edit',
  find_tool: 'search',
  call_tool: 'execute',
};
const titleCharsMax = 80;

/** Where a turn stands, for ids of its messages; a retried step begins a message of its own. */
interface TurnPlace {
  readonly turn: number;
  readonly attempt: number;
}

/** A live event as updates; the end of a turn is one as well, for clients that only watch. */
export function eventUpdates(event: TurnEvent, { turn, attempt }: TurnPlace): SessionUpdate[] {
  switch (event.type) {
    case 'text':
      return [textChunk('agent_message_chunk', event.delta, messageId(turn, event.step, attempt))];
    case 'thought':
      return [
        textChunk('agent_thought_chunk', event.delta, `${messageId(turn, event.step, attempt)}.thought`),
      ];
    case 'reset':
      // Text that was sent cannot be taken back: it is said that it does not count.
      return [
        {
          ...textChunk('agent_message_chunk', brokenOff, messageId(turn, event.step, attempt)),
          _meta: { reset: { turn, step: event.step, why: event.why } },
        },
      ];
    case 'state': {
      const { type: _type, ...state } = event;
      return [info({ turn, ...state }, 'turn_state')];
    }
    case 'call':
      return [toolCall(event.call)];
    case 'call-status':
      return [
        event.status === 'running'
          ? runningCall(event.call)
          : callResult(event.call, event.status, event.text ?? ''),
      ];
    case 'compacted':
      return [compacted(event.upTo)];
    case 'end':
      return [
        info(
          { turn: event.turn, outcome: event.outcome, ...(event.error ? { error: event.error } : {}) },
          'turn_end',
        ),
      ];
  }
}

const brokenOff = '\n\n[The reply broke off here and is asked for again.]\n\n';

/** A record of the log as `session/load` replays it. */
export function recordUpdates(record: SessionRecord): SessionUpdate[] {
  switch (record.type) {
    case 'turn':
      return [userChunk(record)];
    case 'assistant': {
      const { turn, step, text, reasoning = '', calls = [], name, ref, at } = record;
      const id = messageId(turn, step, 0);
      const said = {
        ...textChunk('agent_message_chunk', text, id),
        _meta: saidMeta({ turn, name, ref, at }),
      };
      return [
        ...(reasoning === '' ? [] : [textChunk('agent_thought_chunk', reasoning, `${id}.thought`)]),
        ...(text === '' ? [] : [said]),
        ...calls.map(toolCall),
      ];
    }
    case 'result':
      return [callResult(record.call, record.status, record.text)];
    case 'title':
      return [titled(record.title, record.at)];
    case 'compact':
      return [compacted(record.up_to)];
    case 'end': {
      const { turn, outcome, error } = record;
      return [info({ turn, outcome, ...(error === undefined ? {} : { error }) }, 'turn_end')];
    }
    default:
      return [];
  }
}

export function userChunk(record: {
  turn: number;
  text: string;
  at: string;
  name?: string;
  ref?: string;
}): SessionUpdate {
  const { turn, text, name, ref, at } = record;
  return {
    ...textChunk('user_message_chunk', text, `t${turn}.user`),
    _meta: saidMeta({ turn, name, ref, at }),
  };
}

export function titled(title: string, updatedAt: string): SessionUpdate {
  return { sessionUpdate: 'session_info_update', title, updatedAt };
}

/** Text that was streamed before a client came. */
export function partialUpdates(
  text: { step: number; text: string; thought: string },
  place: TurnPlace,
): SessionUpdate[] {
  const { step } = text;
  return [
    ...(text.thought === '' ? [] : eventUpdates({ type: 'thought', step, delta: text.thought }, place)),
    ...(text.text === '' ? [] : eventUpdates({ type: 'text', step, delta: text.text }, place)),
  ];
}

function messageId(turn: number, step: number, attempt: number): string {
  return attempt === 0 ? `t${turn}.${step}` : `t${turn}.${step}.${attempt}`;
}

type ChunkKind = 'user_message_chunk' | 'agent_message_chunk' | 'agent_thought_chunk';

function textChunk(sessionUpdate: ChunkKind, text: string, id: string): SessionUpdate {
  return { sessionUpdate, content: { type: 'text', text }, messageId: id };
}

function saidMeta(said: { turn: number; name: string | undefined; ref: string | undefined; at: string }) {
  const { turn, at, name, ref } = said;
  return { turn, at, ...(name === undefined ? {} : { name }), ...(ref === undefined ? {} : { ref }) };
}

/** An update that changes nothing a plain client shows; ours read its `_meta`. */
function info(detail: object, name: 'turn_state' | 'turn_end' | 'compacted'): SessionUpdate {
  return { sessionUpdate: 'session_info_update', _meta: { [name]: detail } };
}

/** Said as a thought, which every client can show and none takes for the answer. */
function compacted(upTo: number): SessionUpdate {
  const text =
    '[Older turns were condensed so that the conversation fits the model. The log keeps them whole.]\n';
  return {
    ...textChunk('agent_thought_chunk', text, `compact.${upTo}`),
    _meta: { compacted: { up_to: upTo } },
  };
}

function toolCall(call: ToolCall): SessionUpdate {
  return {
    sessionUpdate: 'tool_call',
    toolCallId: call.id,
    title: callTitle(call),
    name: call.name,
    kind: kinds[call.name] ?? 'other',
    status: 'pending',
    rawInput: call.arguments,
  };
}

/** `recall: spare key`, as a person reads it. */
export function callTitle({ name, arguments: args }: ToolCall): string {
  if (typeof args === 'string') return clipLine(`${name}: ${args}`, titleCharsMax);
  const told = [args['action'], args['name'], args['query'], args['text'], args['old']];
  const words = told.filter((value): value is string => typeof value === 'string' && value !== '');
  return clipLine(words.length === 0 ? name : `${name}: ${words.join(' ')}`, titleCharsMax);
}

function runningCall(id: string): SessionUpdate {
  return { sessionUpdate: 'tool_call_update', toolCallId: id, status: 'in_progress' };
}

/** The runbook entry of a call that did not do what it should. */
const codes: Partial<Record<ResultStatus, ErrorCode>> = { denied: 'tool-denied', error: 'tool-failed' };

/** The protocol knows only whether a call failed; `_meta` says how, and which entry explains it. */
function callResult(id: string, status: ResultStatus, text: string): SessionUpdate {
  const code = codes[status];
  const content: ToolCallContent[] =
    text === '' ? [] : [{ type: 'content', content: { type: 'text', text } }];
  return {
    sessionUpdate: 'tool_call_update',
    toolCallId: id,
    status: status === 'ok' ? 'completed' : 'failed',
    content,
    _meta: { status, ...(code === undefined ? {} : { code, runbook: code }) },
  };
}

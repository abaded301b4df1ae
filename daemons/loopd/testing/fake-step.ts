/** One reply of the fake model server, as a test writes it down, and the events that a llama-server makes of it. */
import { renderCall, renderReply } from './fake-template.ts';

interface FakeCall {
  readonly name: string;
  readonly arguments: string;
  /** null: none is sent. */
  readonly id?: string | null;
  readonly index?: number | null;
}

/** How the events lie in the writes; `byte` also cuts every character. */
export type Framing = 'event' | 'all' | 'byte' | 'crlf' | 'no-space';

export type Fault =
  /** The connection ends with a FIN and no last chunk, as when the server is killed. */
  | 'fin'
  /** The answer ends properly, without a finish_reason and without [DONE]. */
  | 'clean-end'
  | 'reset'
  | 'reset-before-headers'
  | 'silence-before-headers'
  | 'silence-after-headers'
  /** An error event after what was written. */
  | 'error-event';

/** In texts and arguments, `{{said}}` stands for what the person said last, so that one rule serves many sessions. */
export interface FakeStep {
  readonly text?: string;
  readonly reasoning?: string;
  readonly calls?: readonly FakeCall[];
  /** Without it: what follows from the reply. */
  readonly finish?: string;
  /** Instead of a reply. */
  readonly status?: number;
  readonly error?: Record<string, unknown>;
  readonly fault?: Fault;
  readonly framing?: Framing;
  /** Calls are made even where tool_choice is "none". */
  readonly ignoresNone?: boolean;
  readonly usage?: 'none' | 'zero';
  /** Comments before the first token. */
  readonly pings?: number;
  /** Waits here until the test lets it go on. */
  readonly hold?: 'headers' | 'data' | 'middle';
  /** Between two tokens. */
  readonly delayMs?: number;
  /** As if the prompt had so many tokens. */
  readonly promptTokens?: number;
}

/** Used where no step is left: the first whose conditions hold. */
export interface FakeRule {
  readonly last?: 'user' | 'tool';
  /** In the last message. */
  readonly contains?: string;
  /** Tool messages since the last question, at least. */
  readonly results?: number;
  readonly step: FakeStep;
}

/** One token of a reply: what it adds to the delta, and to the cache. */
export interface Piece {
  readonly delta: Record<string, unknown>;
}

const pieceCharacters = 4;

export function piecesOf({ text = '', reasoning = '', calls = [] }: FakeStep, serial: number): Piece[] {
  return [
    ...cut(reasoning).map((piece) => ({ delta: { reasoning_content: piece } })),
    ...cut(text).map((piece) => ({ delta: { content: piece } })),
    ...calls.flatMap((call, at) => callPieces(call, at, serial)),
  ];
}

function callPieces({ name, arguments: args, ...call }: FakeCall, at: number, serial: number): Piece[] {
  const index = call.index === undefined ? at : call.index;
  const id =
    call.id === undefined
      ? `call${String(serial).padStart(12, '0')}${String(at).padStart(16, '0')}`
      : call.id;
  const [first = '', ...rest] = cut(args);
  const place = index === null ? {} : { index };
  return [
    {
      delta: {
        tool_calls: [
          {
            ...place,
            ...(id === null ? {} : { id, type: 'function' }),
            function: { name, arguments: first },
          },
        ],
      },
    },
    ...rest.map((piece) => ({ delta: { tool_calls: [{ ...place, function: { arguments: piece } }] } })),
  ];
}

/** Never inside a character: the server holds incomplete ones back. */
function cut(text: string): string[] {
  return text.match(new RegExp(`[\\s\\S]{1,${pieceCharacters}}`, 'gu')) ?? [];
}

/** The step with what the person said in its place. */
export function filledIn(step: FakeStep, said: string): FakeStep {
  const inJson = JSON.stringify(said).slice(1, -1);
  const { text, calls } = step;
  return {
    ...step,
    ...(text === undefined ? {} : { text: text.replaceAll(saidMark, said) }),
    ...(calls === undefined
      ? {}
      : {
          calls: calls.map((call) => ({ ...call, arguments: call.arguments.replaceAll(saidMark, inJson) })),
        }),
  };
}

const saidMark = '{{said}}';

/** A call that is not wanted comes as plain text, as the server's parser leaves it. */
export function withoutCalls(step: FakeStep): FakeStep {
  const { calls = [], text = '', ...rest } = step;
  const written = calls.map((call) => renderCall(call.name, call.arguments)).join('');
  return { ...rest, text: (text + written).trimStart(), finish: rest.finish ?? 'stop' };
}

export function finishOf({ finish, calls = [] }: FakeStep): string {
  return finish ?? (calls.length > 0 ? 'tool_calls' : 'stop');
}

/** What the reply left in the cache of its slot. */
export function writtenBy({ text = '', reasoning = '', calls = [] }: FakeStep): string {
  return renderReply({
    reasoning,
    text,
    calls: calls.map((call) => renderCall(call.name, call.arguments)).join(''),
  });
}

const newlines = { event: '\n\n', all: '\n\n', byte: '\n\n', crlf: '\r\n\r\n', 'no-space': '\n\n' } as const;

/** The bytes of one event. */
export function frame(data: string, framing: Framing): Buffer {
  return Buffer.from(`data:${framing === 'no-space' ? '' : ' '}${data}${newlines[framing]}`);
}

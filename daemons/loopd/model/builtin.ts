/**
 * The fixed responder: no model, but the same steps as one, by rule and from memory alone. What it says is quoted
 * from the block, from recall or from what tools answered; it invents nothing, and says that it is no model.
 */
import type { ModelMessage, ModelReply, ModelRequest } from '../turn/effects.ts';
import {
  answerAbout,
  answerEverything,
  answerForget,
  answerMemory,
  answerTalk,
  answerTime,
  withNotice,
} from './builtin-answer.ts';
import { intentOf, type Intent } from './builtin-intent.ts';
import type { AskContext, Model, ModelHealth } from './model.ts';
import { notesOf, type Note } from './notes.ts';

export class BuiltinModel implements Model {
  readonly kind = 'builtin';
  readonly name = 'builtin';

  async ask(request: ModelRequest, { onDelta }: AskContext): Promise<ModelReply> {
    const reply = respond(request);
    if (reply.text !== '') onDelta({ type: 'text', delta: reply.text });
    return reply;
  }

  async aside(): Promise<undefined> {
    return undefined;
  }

  contextTokens(): undefined {
    return undefined;
  }

  async health(): Promise<ModelHealth> {
    return { state: 'ready', warnings: ['no language model is configured: answers are by rule'] };
  }

  release(): void {}

  close(): void {}
}

/** What the person asked last, and what the tools answered since. */
interface Asked {
  readonly intent: Intent;
  readonly results: readonly { name: string; args: Record<string, unknown>; text: string }[];
  readonly notes: readonly Note[];
  /** What the person said before in this session, oldest first. */
  readonly said: readonly string[];
}

type Step = { call: [name: string, args: Record<string, unknown>] } | { say: string };

/** More than are shown: some only repeat the question. */
const hitsWanted = 6;

/** The next step of the conversation; the same request gives the same step. */
export function respond({ messages, tools, toolChoice }: ModelRequest): ModelReply {
  const asked = readAsked(messages);
  const step = stepOf(asked);
  const mayCall =
    'call' in step && toolChoice !== 'none' && tools.some((tool) => tool.function.name === step.call[0]);
  const [text, calls] = mayCall
    ? ['', [{ name: step.call[0], arguments: JSON.stringify(step.call[1]) }]]
    : ['say' in step ? step.say : withNotice('I cannot look that up: the tool for it is not there.'), []];
  return { text, reasoning: '', calls, finish: mayCall ? 'tool_calls' : 'stop', usage: {} };
}

function stepOf({ intent, results, notes, said }: Asked): Step {
  const [first, second] = results;
  switch (intent.kind) {
    case 'remember': {
      const { file, text } = intent;
      return first
        ? { say: withNotice(answerMemory(first.text, file, text)) }
        : { call: ['memory', { action: 'add', file, text }] };
    }
    case 'forget': {
      const found = notes.filter((note) => isNoteOf(note, intent.text));
      if (found.length > 1 && !first) return { say: withNotice(answerForget('several', found)) };
      const [note = { file: 'memory' as const, text: intent.text }] = found;
      if (!first) return { call: ['memory', { action: 'remove', file: note.file, old: note.text }] };
      if (!second && isNoMatch(first.text))
        return {
          call: [
            'memory',
            { action: 'remove', file: note.file === 'user' ? 'memory' : 'user', old: note.text },
          ],
        };
      return { say: withNotice(answerForget((second ?? first).text, [note])) };
    }
    case 'time':
      return first ? { say: withNotice(answerTime(first.text)) } : { call: ['clock', {}] };
    case 'everything':
      return { say: withNotice(answerEverything(notes)) };
    case 'talk':
      return { say: answerTalk(intent.talk) };
    case 'ask':
      if (!first) return { call: ['recall', { query: intent.query, limit: hitsWanted }] };
      return {
        say: withNotice(answerAbout({ notes, said, query: intent.query, recalled: first.text })),
      };
  }
}

function readAsked(messages: readonly ModelMessage[]): Asked {
  const at = messages.findLastIndex(({ role }) => role === 'user');
  const system = messages[0]?.role === 'system' ? messages[0].content : '';
  const earlier = messages.slice(0, at);
  return {
    intent: intentOf(messages[at]?.content ?? ''),
    results: resultsOf(messages.slice(at + 1)),
    notes: withChanges(notesOf(system), resultsOf(earlier)),
    said: earlier.flatMap((message) => (message.role === 'user' ? [message.content] : [])),
  };
}

function resultsOf(messages: readonly ModelMessage[]): Asked['results'] {
  const texts = new Map(
    messages.flatMap((message) =>
      message.role === 'tool' ? [[message.tool_call_id, message.content] as const] : [],
    ),
  );
  return messages.flatMap((message) =>
    message.role !== 'assistant'
      ? []
      : (message.tool_calls ?? []).map((call) => ({
          name: call.function.name,
          args: JSON.parse(call.function.arguments) as Record<string, unknown>,
          text: texts.get(call.id) ?? '',
        })),
  );
}

/** The block is that of the session's beginning; what was saved or removed since then counts too. */
function withChanges(notes: readonly Note[], results: Asked['results']): Note[] {
  let now = [...notes];
  for (const { name, args, text } of results) {
    if (name !== 'memory' || !text.startsWith('{"ok":true')) continue;
    const { action, file, text: added, old } = args;
    if (action === 'add' && typeof added === 'string')
      now.push({ file: file === 'user' ? 'user' : 'memory', text: added });
    if (action === 'remove' && typeof old === 'string')
      now = now.filter((note) => note.file !== file || !note.text.includes(old));
  }
  return now;
}

function isNoteOf(note: Note, text: string): boolean {
  return note.text.toLocaleLowerCase().includes(text.toLocaleLowerCase());
}

function isNoMatch(result: string): boolean {
  return result.startsWith('{"error":"memory-no-match"');
}

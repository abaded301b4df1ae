/** What a whole reply of the model is: calls, an answer, or something that is neither and has a name. */
import type { ToolCall } from '../../../shared/protocol/sessions.ts';

export type Verdict = 'calls' | 'answer' | 'cut' | 'refused' | 'leaked' | 'empty';

/** What the model is told, once a turn, after a reply that is neither an answer nor a call. */
export const nudges = {
  leaked:
    'Your last message held a tool call written as text, so nothing was run. Call the tool itself, or answer in plain words.',
  empty: 'Your last message was empty. Answer in plain words, or call a tool.',
} as const;

/** Calls run after these alone: `length` and a stream that broke off prove that something is missing. */
const runnableFinishes = new Set(['stop', 'tool_calls']);

export function mayRunCalls(finish: string): boolean {
  return runnableFinishes.has(finish);
}

interface Reply {
  readonly text: string;
  readonly finish: string;
  readonly calls?: readonly ToolCall[];
}

export function judgeReply({ text, finish, calls = [] }: Reply): Verdict {
  if (calls.length > 0) return 'calls';
  if (finish === 'content_filter') return 'refused';
  if (text.trim() === '') return 'empty';
  if (hasToolMarkup(text)) return 'leaked';
  return finish === 'length' ? 'cut' : 'answer';
}

/** How the templates in use open a call; at the start of a line, so that a sentence about them is none. */
const markup =
  /^[ \t]*(?:<\/?tool_call>|<function=|<\|tool_call|<\|tool_calls_section|<｜tool|\[TOOL_CALLS\]|<\|python_tag\|>|<function_call>|<tool_use>)/m;
const fence = /^```[a-z]*\n([\s\S]*?)\n?```$/;
const fences = /```[\s\S]*?(?:```|$)/g;

function hasToolMarkup(text: string): boolean {
  const trimmed = text.trim();
  const whole = fence.exec(trimmed)?.[1] ?? trimmed;
  return markup.test(trimmed.replace(fences, '')) || isCallAsJson(whole);
}

function isCallAsJson(text: string): boolean {
  if (!text.startsWith('{') || !text.endsWith('}')) return false;
  try {
    const { name, arguments: args, parameters } = JSON.parse(text) as Record<string, unknown>;
    return typeof name === 'string' && [args, parameters].some((value) => typeof value === 'object');
  } catch {
    return false;
  }
}

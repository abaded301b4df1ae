/** A title for a session after its first turn: asked of the model beside the sessions, or by rule. Best effort. */
import { toAppError } from '../../../shared/errors.ts';
import { judgeReply } from '../turn/judge.ts';
import type { Model } from './model.ts';

export interface FirstTurn {
  readonly prompt: string;
  readonly answer: string;
}

const titleCharactersMax = 60;
/** What of a long first turn is shown to the model. */
const excerptCharacters = 800;
const titleTokensMax = 40;

const system = 'You give conversations short titles.';
const task =
  'Write a title for the conversation below: at most six words, in its language, without quotes or a full stop. Write the title alone.';

/** undefined where no title is to be had: the list then shows how the session began. */
export async function titleOf(
  model: Model,
  first: FirstTurn,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (model.kind === 'builtin') return titleByRule(first.prompt);
  const { prompt, answer } = first;
  const content = `${task}\n\nPerson: ${excerpt(prompt)}\n\nAssistant: ${excerpt(answer)}`;
  try {
    const reply = await model.aside(
      {
        messages: [
          { role: 'system', content: system },
          { role: 'user', content },
        ],
        tools: [],
        toolChoice: 'none',
        maxTokens: titleTokensMax,
        seed: 1,
      },
      signal,
    );
    return reply && judgeReply({ text: reply.text, finish: reply.finish }) === 'answer'
      ? tidyTitle(reply.text)
      : undefined;
  } catch (error) {
    // The server is gone or busy: nobody waits for a title.
    if (toAppError(error).code === 'internal') throw error;
    return undefined;
  }
}

const command = /^(?:please\s+)?(?:remember|note|forget)(?:\s+that|\s*:)?\s+/i;

export function titleByRule(prompt: string): string | undefined {
  const text = prompt.trim().replace(command, '');
  return tidyTitle(text.charAt(0).toLocaleUpperCase() + text.slice(1));
}

/** What models put around a title: marks of Markdown, quotes, a full stop. */
const ornament = /^[\s#*_"'“”„«»-]+|[\s*_"'“”«».。]+$/g;

function tidyTitle(text: string): string | undefined {
  const line = text.split('\n').find((candidate) => candidate.trim() !== '') ?? '';
  const bare = line
    .replace(ornament, '')
    .replace(/^title:\s*/i, '')
    .replaceAll(ornament, '')
    .replaceAll(/\s+/g, ' ');
  if (bare === '') return undefined;
  const characters = Array.from(bare);
  if (characters.length <= titleCharactersMax) return bare;
  const start = characters.slice(0, titleCharactersMax - 1).join('');
  // At the end of a word, unless that loses half of it.
  const space = start.lastIndexOf(' ');
  return `${space > titleCharactersMax / 2 ? start.slice(0, space) : start}…`;
}

function excerpt(text: string): string {
  return text.trim().slice(0, excerptCharacters).toWellFormed();
}

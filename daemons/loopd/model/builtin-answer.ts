/** The sentences of the fixed responder: what was found, quoted, and what was done. */
import { matching, type Note } from './notes.ts';

const notice =
  '(No language model is connected, so this is looked up by rule. To attach one, set `url` under `[model]` in loopd.toml.)';
const notesShownMax = 8;
const saidShownMax = 3;
const saidCharactersMax = 300;

export function withNotice(text: string): string {
  return `${text}\n\n${notice}`;
}

/** What the memory tool answered when something was to be saved. */
export function answerMemory(result: string, file: string, text: string): string {
  const reply = parse(result);
  if (reply?.['ok'] !== true) return `Not saved: ${failureOf(result, reply)}`;
  const isNew = Array.isArray(reply['changed']) && reply['changed'].length > 0;
  return isNew
    ? `Saved in ${file}.md:\n${quote(text)}\nIt takes effect in the next session.`
    : `That is in ${file}.md already:\n${quote(text)}`;
}

export function answerForget(result: string, notes: readonly Note[]): string {
  if (result === 'several')
    return `Several notes match. Say which one:\n${notes.map((note) => quote(note.text)).join('\n')}`;
  const reply = parse(result);
  if (reply?.['ok'] !== true) return `Nothing was removed: ${failureOf(result, reply)}`;
  const { before } = ((reply['changed'] as { before?: unknown }[] | undefined) ?? [])[0] ?? {};
  const gone = typeof before === 'string' ? before : (notes[0]?.text ?? '');
  return `Removed from ${String(reply['file'])}.md:\n${quote(gone)}\nWhat was said in earlier sessions is still there; it can be forgotten with the operator's command.`;
}

/** The clock's text, up to what is for programs. */
export function answerTime(result: string): string {
  return `It is ${result.split(';')[0]}.`;
}

interface About {
  readonly notes: readonly Note[];
  readonly said: readonly string[];
  readonly query?: string;
  readonly recalled?: string;
  readonly isEverything?: boolean;
}

/** Everything that matches, each with where it is from; or that there is nothing. */
export function answerAbout({ notes, said, query = '', recalled = '', isEverything = false }: About): string {
  const found = isEverything ? notes : matching(notes, query, (note) => note.text).slice(0, notesShownMax);
  const spoken = matching(said, query, (text) => text).slice(0, saidShownMax);
  const { hits, remarks } = readRecalled(recalled);
  const parts = [
    ...(['user', 'memory'] as const).flatMap((file) =>
      section(
        `In ${file}.md:`,
        found.filter((note) => note.file === file).map((note) => note.text),
      ),
    ),
    ...section(
      'Said earlier in this session:',
      spoken.map((text) => text.slice(0, saidCharactersMax).toWellFormed()),
    ),
    ...(hits.length === 0 ? [] : [`In earlier sessions:\n${hits.join('\n\n')}`]),
  ];
  if (parts.length === 0)
    parts.push(
      isEverything
        ? 'My memory is empty.'
        : 'I know nothing about that: it is neither in memory nor in earlier sessions.',
    );
  return [...parts, ...remarks].join('\n\n');
}

function section(title: string, texts: readonly string[]): string[] {
  return texts.length === 0 ? [] : [[title, ...texts.map(quote)].join('\n')];
}

/** Every line of it marked, so that nothing quoted passes for what is said here. */
function quote(text: string): string {
  return text
    .split('\n')
    .map((line) => `> ${line}`)
    .join('\n');
}

/** The numbered quotes of a recall result, with date and session, and what it says besides. */
function readRecalled(text: string): { hits: string[]; remarks: string[] } {
  const [head = '', ...parts] = text.split('\n\n');
  const hits = parts.filter((part) => /^\d+\. /.test(part));
  const remarks = parts.filter((part) => !/^\d+\. /.test(part));
  // Neither a list nor the sentence that there is none: recall failed, and says how.
  const isFailure = head !== '' && !/^(?:\d+ found|Nothing found)/.test(head);
  return { hits, remarks: isFailure ? [head, ...remarks] : remarks };
}

function failureOf(result: string, reply: Record<string, unknown> | undefined): string {
  const message = reply?.['message'];
  return typeof message === 'string' ? message : (result.split('\n')[0] ?? '');
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

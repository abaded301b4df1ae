/** The sentences of the fixed responder: what it is, what was found, quoted, and what was done. */
import { clip } from '../tools/clip.ts';
import type { Talk } from './builtin-intent.ts';
import { matching, type Note } from './notes.ts';
import { readRecalled, tellingQuotes, type Quote } from './recalled.ts';

const notice = '(By rule: no language model is connected.)';
const notesShownMax = 5;
const saidShownMax = 2;
const quotesShownMax = 3;
const quoteCharsMax = 400;

export function withNotice(text: string): string {
  return `${text}\n\n${notice}`;
}

const whatIAm =
  'I am the built-in responder of loopkeep, no language model: I answer by rule, from what is in memory and in earlier sessions.';

const help = `${whatIAm} You can say:
- "Remember that the spare key hangs in the shed."
- "Forget the spare key."
- "What do you know about the spare key?", or any other question: I quote what matches.
- "What do you know about me?"
- "What time is it?"
To have a language model instead, set \`url\` under \`[model]\` in loopd.toml and start loopd again.`;

export function answerTalk(talk: Talk): string {
  switch (talk) {
    case 'greeting':
      return `Hello. ${whatIAm} Say "help" to see what you can ask.`;
    case 'who':
      return `${whatIAm} I can remember, forget, look things up and tell the time; say "help" for examples.`;
    case 'help':
      return help;
    case 'thanks':
      return withNotice('You are welcome.');
    case 'farewell':
      return withNotice('Goodbye. What was said here can be recalled in later sessions.');
    case 'nod':
      return withNotice('All right.');
  }
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
  return `Removed from ${String(reply['file'])}.md:\n${quote(gone)}\nWhat was said about it in sessions is still there; \`loopctl forget\` takes that out too.`;
}

const clockText =
  /^(?<date>\d{4}-\d\d-\d\d) (?<time>\d\d:\d\d)(?::\d\d)? (?<weekday>\w+), (?<zone>\S+) \((?<offset>UTC[^)]*)\)/;

/** The clock's text as a sentence; as it is where it is none that this knows. */
export function answerTime(result: string): string {
  const { date, time, weekday, zone, offset } = clockText.exec(result)?.groups ?? {};
  if (time === undefined) return result;
  return `It is ${time} on ${weekday}, ${date} (${zone === 'UTC' ? zone : `${zone}, ${offset}`}).`;
}

export function answerEverything(notes: readonly Note[]): string {
  const found = sectionsOf(notes);
  return found.length === 0 ? 'My memory is empty.' : found.join('\n\n');
}

interface About {
  readonly notes: readonly Note[];
  /** What the person said before in this session, oldest first. */
  readonly said: readonly string[];
  readonly query: string;
  /** What the recall tool answered. */
  readonly recalled: string;
}

/** The notes and the few quotes that match best, each with where it is from; or that there is nothing. */
export function answerAbout({ notes, said, query, recalled }: About): string {
  const found = matching(notes, query, (note) => note.text).slice(0, notesShownMax);
  const here = matching(said, query, (text) => text);
  const { quotes, isLoose, remarks } = readRecalled(recalled);
  const noted = found.map((note) => note.text);
  const spoken = tellingQuotes(here.map(saidHere), { asked: query, shown: noted, max: saidShownMax });
  const shown = [...noted, ...spoken.map(({ text }) => text)];
  const told = tellingQuotes(quotes, { asked: query, shown, max: quotesShownMax });
  const heading = isLoose && found.length === 0 ? 'Closest in earlier sessions:' : 'In earlier sessions:';
  const parts = [
    ...sectionsOf(found),
    ...(spoken.length === 0
      ? []
      : [['Earlier in this session you said:', ...spoken.map(({ text }) => shortQuote(text))].join('\n')]),
    ...(told.length === 0 ? [] : [[heading, ...told.map(quoteLines)].join('\n')]),
  ];
  if (parts.length === 0)
    parts.push('I found nothing about that, neither in memory nor in earlier sessions.');
  return [...parts, ...remarks].join('\n\n');
}

function saidHere(text: string): Quote {
  return { when: '', place: '', who: 'person', text };
}

const names: Readonly<Record<string, string>> = {
  person: 'you',
  assistant: 'the assistant',
  tool: 'a tool',
  run: 'a run',
};

function quoteLines({ when, place, who, text, next }: Quote): string {
  const name = Object.hasOwn(names, who) ? names[who] : who;
  const answer = next === undefined ? [] : ['  and then:', shortQuote(next)];
  return [`${when}, ${name}, ${place}:`, shortQuote(text), ...answer].join('\n');
}

function sectionsOf(notes: readonly Note[]): string[] {
  return (['user', 'memory'] as const).flatMap((file) => {
    const texts = notes.filter((note) => note.file === file).map((note) => quote(note.text));
    return texts.length === 0 ? [] : [[`In ${file}.md:`, ...texts].join('\n')];
  });
}

function shortQuote(text: string): string {
  return quote(clip(text.trim(), quoteCharsMax));
}

/** Every line of it marked, so that nothing quoted passes for what is said here. */
function quote(text: string): string {
  return text
    .split('\n')
    .map((line) => `> ${line}`)
    .join('\n');
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

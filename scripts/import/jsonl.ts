/** JSON Lines: a session log of ours, one message a line, or one conversation a line. */
import { AppError } from '../../shared/errors.ts';
import type { SessionBody } from '../../shared/protocol/sessions.ts';
import { fieldsOf, listOf, textOf, timeMsOf, type Fields } from './fields.ts';
import {
  sessionOf,
  type ImportedMessage,
  type ImportedRecord,
  type ImportedSession,
} from './imported-session.ts';

/** Records or messages of one session, which is in memory whole. */
const sessionLinesMax = 1_000_000;

export function isJsonl(element: unknown): boolean {
  const fields = fieldsOf(element) ?? {};
  return isLogLine(fields) || roleOf(fields['role']) !== undefined || Array.isArray(fields['messages']);
}

const isLogLine = (fields: Fields) => typeof fields['type'] === 'string' && typeof fields['seq'] === 'number';

/** The lines of one session lie together; a line without a session belongs to the one that bears the file's name. */
export async function* jsonlSessions(
  elements: AsyncIterable<unknown>,
  name: string,
): AsyncGenerator<ImportedSession, void, undefined> {
  const open = new OpenSession(name);
  let number = 0;
  for await (const element of elements) {
    number += 1;
    const fields = fieldsOf(element);
    if (fields === undefined || !isJsonl(fields))
      throw new AppError('rejected', `line ${number} is neither a record, a message nor a conversation`);
    const done = Array.isArray(fields['messages'])
      ? [open.finish(), conversationOf(fields, `${name}-${number}`)]
      : [open.add(fields, number)];
    yield* done.filter((session) => session !== undefined);
  }
  const last = open.finish();
  if (last !== undefined) yield last;
}

class OpenSession {
  readonly #name: string;
  readonly #seen = new Set<string>();
  #id: string | undefined;
  #header: Fields = {};
  #lines: Fields[] = [];

  constructor(name: string) {
    this.#name = name;
  }

  /** @returns the session that this line ends by beginning another. */
  add(line: Fields, number: number): ImportedSession | undefined {
    const isHeader = line['type'] === 'session';
    const id = isHeader
      ? textOf(line['id'])
      : (textOf(line['session']) ?? (this.#isLog() ? this.#id : undefined));
    const session = id ?? this.#name;
    let done: ImportedSession | undefined;
    if (isHeader || session !== this.#id) {
      done = this.finish();
      if (this.#seen.has(session))
        throw new AppError(
          'rejected',
          `line ${number}: session ${session} comes again; its lines must lie together`,
        );
      this.#seen.add(session);
      this.#id = session;
      this.#header = isHeader ? line : {};
    }
    if (!isHeader) this.#lines.push(line);
    if (this.#lines.length > sessionLinesMax)
      throw new AppError('rejected', `session ${session} has over ${sessionLinesMax} lines`);
    return done;
  }

  finish(): ImportedSession | undefined {
    const id = this.#id;
    const lines = this.#lines;
    const isLog = this.#isLog() || isLogLine(lines[0] ?? {});
    const header = this.#header;
    this.#id = undefined;
    this.#lines = [];
    this.#header = {};
    if (id === undefined || lines.length === 0) return undefined;
    return isLog ? fromLog(id, header, lines) : fromMessages(id, lines);
  }

  #isLog(): boolean {
    return this.#header['type'] === 'session';
  }
}

/** A log of ours comes back record for record. */
function fromLog(id: string, header: Fields, lines: readonly Fields[]): ImportedSession {
  const title = textOf(header['title']);
  const startedMs = timeMsOf(header['at']) ?? timeMsOf(lines[0]?.['at']) ?? 0;
  const records = lines.map((line): ImportedRecord => {
    const { v: _v, seq: _seq, at, ...body } = line;
    const atMs = timeMsOf(at) ?? startedMs;
    return { ...(body as unknown as SessionBody), at: new Date(atMs).toISOString() };
  });
  return {
    id,
    ...(title === undefined ? {} : { title }),
    startedAt: new Date(startedMs).toISOString(),
    origin: 'person',
    records,
  };
}

function fromMessages(id: string, lines: readonly Fields[]): ImportedSession | undefined {
  let atMs = timeMsOf(lines[0]?.['at']) ?? 0;
  const startedMs = atMs;
  const messages = lines.flatMap((line) => {
    atMs = timeMsOf(line['at']) ?? atMs;
    return messageOf(line, atMs);
  });
  return sessionOf({ id, startedMs, messages });
}

function conversationOf(fields: Fields, name: string): ImportedSession | undefined {
  const startedMs = timeMsOf(fields['at']) ?? timeMsOf(fields['created_at']) ?? 0;
  const title = textOf(fields['title']);
  const messages = listOf(fields['messages']).flatMap((message) => {
    const line = fieldsOf(message) ?? {};
    return messageOf(line, timeMsOf(line['at']) ?? startedMs);
  });
  return sessionOf({
    id: textOf(fields['id']) ?? name,
    startedMs,
    messages,
    ...(title === undefined ? {} : { title }),
  });
}

function messageOf(line: Fields, atMs: number): ImportedMessage[] {
  const role = roleOf(line['role']);
  const text = contentOf(line['content'] ?? line['text']);
  if (role === undefined || role === 'other' || text === '') return [];
  const name = textOf(line['name']);
  const ref = textOf(line['ref']);
  return [
    { role, text, atMs, ...(name === undefined ? {} : { name }), ...(ref === undefined ? {} : { ref }) },
  ];
}

/** A text, or the list of parts that model servers take. */
function contentOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return listOf(content)
    .flatMap((part) => textOf(fieldsOf(part)?.['text']) ?? [])
    .join('\n');
}

function roleOf(role: unknown): ImportedMessage['role'] | 'other' | undefined {
  switch (role) {
    case 'user':
    case 'person':
    case 'human':
      return 'person';
    case 'assistant':
    case 'model':
      return 'assistant';
    case 'system':
    case 'developer':
    case 'tool':
      return 'other';
    default:
      return undefined;
  }
}

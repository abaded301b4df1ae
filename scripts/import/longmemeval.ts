/** LongMemEval's questions: the sessions of a question's haystack become sessions, with the dates that it gives them. */
import { fieldsOf, listOf, textOf } from './fields.ts';
import { sessionOf, type ImportedMessage, type ImportedSession } from './imported-session.ts';

const messageMs = 1000;

export function isLongmemeval(element: unknown): boolean {
  return Array.isArray(fieldsOf(element)?.['haystack_sessions']);
}

/** A haystack shares sessions with others under other dates, so the question is part of the id. */
export function* longmemevalSessions(element: unknown): Generator<ImportedSession, void, undefined> {
  const fields = fieldsOf(element) ?? {};
  const question = textOf(fields['question_id']) ?? 'question';
  const dates = listOf(fields['haystack_dates']);
  const ids = listOf(fields['haystack_session_ids']);
  for (const [index, said] of listOf(fields['haystack_sessions']).entries()) {
    const startedMs = longmemevalDateMs(textOf(dates[index]) ?? '');
    const id = `${question}_${textOf(ids[index]) ?? index}`;
    const session = sessionOf({
      id: `longmemeval-${id}`,
      startedMs,
      messages: listOf(said).flatMap((message, at) =>
        messageOf(message, `${id}:${at}`, startedMs + at * messageMs),
      ),
    });
    if (session !== undefined) yield session;
  }
}

function messageOf(value: unknown, ref: string, atMs: number): ImportedMessage[] {
  const fields = fieldsOf(value) ?? {};
  const text = textOf(fields['content']);
  if (text === undefined) return [];
  return [{ role: fields['role'] === 'assistant' ? 'assistant' : 'person', text, atMs, ref }];
}

const dateTime = /^(\d{4})\/(\d{2})\/(\d{2})(?: \([A-Za-z]+\))?(?: (\d{2}):(\d{2}))?$/;

/** `2023/05/30 (Tue) 23:40`, in UTC; 0 for what is no such date. */
export function longmemevalDateMs(text: string): number {
  const match = dateTime.exec(text.trim());
  if (match === null) return 0;
  const [year, month, day, hour, minute] = match.slice(1).map((part) => Number(part ?? 0));
  return Date.UTC(year ?? 0, (month ?? 1) - 1, day ?? 1, hour ?? 0, minute ?? 0);
}

/** LoCoMo conversations: each of their sessions becomes a session, each utterance a turn with its speaker and dia_id. */
import { fieldsOf, listOf, textOf, type Fields } from './fields.ts';
import { sessionOf, type ImportedMessage, type ImportedSession } from './imported-session.ts';

const utteranceMs = 1000;
const sessionKey = /^session_(\d+)$/;

export function isLocomo(element: unknown): boolean {
  const conversation = conversationOf(element);
  return conversation !== undefined && Object.keys(conversation).some((key) => sessionKey.test(key));
}

/** One conversation, its sessions in their order. `name` stands where the file gives no sample id. */
export function* locomoSessions(element: unknown, name: string): Generator<ImportedSession, void, undefined> {
  const conversation = conversationOf(element) ?? {};
  const sample = locomoName(element, name);
  const numbers = Object.keys(conversation).flatMap((key) => sessionKey.exec(key)?.[1] ?? []);
  for (const number of numbers.toSorted((a, b) => Number(a) - Number(b))) {
    const startedMs = locomoDateMs(textOf(conversation[`session_${number}_date_time`]) ?? '');
    const messages = listOf(conversation[`session_${number}`]).flatMap((utterance, index) =>
      messageOf(utterance, startedMs + index * utteranceMs),
    );
    const session = sessionOf({ id: `locomo-${sample}-${number}`, startedMs, messages });
    if (session !== undefined) yield session;
  }
}

export function locomoName(element: unknown, name: string): string {
  return textOf(fieldsOf(element)?.['sample_id']) ?? name;
}

/** The sessions lie at the top, or under `conversation` as they were first published. */
function conversationOf(element: unknown): Fields | undefined {
  const fields = fieldsOf(element);
  return fieldsOf(fields?.['conversation']) ?? fields;
}

function messageOf(utterance: unknown, atMs: number): ImportedMessage[] {
  const fields = fieldsOf(utterance) ?? {};
  const caption = textOf(fields['blip_caption']);
  const said = textOf(fields['text']) ?? '';
  const text = caption === undefined ? said : `${said} [image: ${caption}]`.trim();
  const name = textOf(fields['speaker']);
  const ref = textOf(fields['dia_id']);
  return [
    {
      role: 'person',
      text,
      atMs,
      ...(name === undefined ? {} : { name }),
      ...(ref === undefined ? {} : { ref }),
    },
  ];
}

const months = 'january february march april may june july august september october november december'.split(
  ' ',
);
const dateTime = /^(\d{1,2}):(\d{2}) (am|pm) on (\d{1,2}) ([a-z]+),? (\d{4})$/i;

/** `1:56 pm on 8 May, 2023`, in UTC; 0 for what is no such date. */
export function locomoDateMs(text: string): number {
  const [, hour, minute, half, day, month, year] = dateTime.exec(text.trim()) ?? [];
  const monthIndex = months.indexOf((month ?? '').toLowerCase());
  if (monthIndex === -1) return 0;
  const hour24 = (Number(hour) % 12) + (half?.toLowerCase() === 'pm' ? 12 : 0);
  return Date.UTC(Number(year), monthIndex, Number(day), hour24, Number(minute));
}

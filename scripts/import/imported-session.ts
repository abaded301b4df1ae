/** A conversation from elsewhere as a session: its records without the header and numbers that loopd gives them. */
import type { SessionBody } from '../../shared/protocol/sessions.ts';

export type ImportedRecord = SessionBody & {
  /** RFC 3339, milliseconds, UTC. */
  readonly at: string;
};

export interface ImportedSession {
  /** The same conversation has the same id each time it is imported. */
  readonly id: string;
  readonly title?: string;
  readonly startedAt: string;
  readonly origin: 'person';
  readonly records: readonly ImportedRecord[];
}

/** One message of a conversation, as every format comes down to. */
export interface ImportedMessage {
  readonly role: 'person' | 'assistant';
  readonly text: string;
  readonly atMs: number;
  readonly name?: string;
  readonly ref?: string;
}

interface Conversation {
  readonly id: string;
  readonly title?: string;
  readonly startedMs: number;
  readonly messages: readonly ImportedMessage[];
}

/** @returns undefined where nothing was said. */
export function sessionOf({ id, title, startedMs, messages }: Conversation): ImportedSession | undefined {
  const said = messages.filter(({ text }) => text.trim() !== '');
  if (said.length === 0) return undefined;
  return {
    id: sessionIdOf(id),
    ...(title === undefined || title.trim() === '' ? {} : { title: title.trim() }),
    startedAt: new Date(startedMs).toISOString(),
    origin: 'person',
    records: recordsOf(said),
  };
}

/** Every person's message begins a turn; replies before the first one belong to turn 0, which nobody asked. */
function recordsOf(messages: readonly ImportedMessage[]): ImportedRecord[] {
  const records: ImportedRecord[] = [];
  let turn = messages[0]?.role === 'person' ? -1 : 0;
  let step = 0;
  for (const [index, { role, text, atMs, name, ref }] of messages.entries()) {
    const at = new Date(atMs).toISOString();
    const kept = { ...(name === undefined ? {} : { name }), ...(ref === undefined ? {} : { ref }) };
    if (role === 'person') {
      turn += 1;
      step = 0;
      records.push({ type: 'turn', turn, text, ...kept, at });
    } else {
      records.push({ type: 'assistant', turn, step, text, ...kept, finish: 'stop', at });
      step += 1;
    }
    // A turn that was answered is over, and so is the last one: nothing is left for a turn loop to go on with.
    const next = messages[index + 1];
    const isOver = next === undefined || (role === 'assistant' && next.role === 'person');
    if (isOver) records.push({ type: 'end', turn, outcome: 'answer', at });
  }
  return records;
}

const idLengthMax = 128;

/** A session id that reads like the given one. */
function sessionIdOf(id: string): string {
  const plain = id.replaceAll(/[^A-Za-z0-9._-]+/g, '-').replace(/^[^A-Za-z0-9]+/, '');
  return plain.slice(0, idLengthMax) || 'imported';
}

/** Claude's export, conversations.json: a list of messages each, with what was attached to them. */
import { fieldsOf, listOf, textOf, timeMsOf, type Fields } from './fields.ts';
import { sessionOf, type ImportedMessage, type ImportedSession } from './imported-session.ts';

export function isClaude(element: unknown): boolean {
  return Array.isArray(fieldsOf(element)?.['chat_messages']);
}

export function claudeSession(element: unknown, name: string): ImportedSession | undefined {
  const fields = fieldsOf(element) ?? {};
  const title = textOf(fields['name']);
  const startedMs = timeMsOf(fields['created_at']) ?? 0;
  const messages: ImportedMessage[] = [];
  let atMs = startedMs;
  for (const value of listOf(fields['chat_messages'])) {
    const message = fieldsOf(value) ?? {};
    atMs = Math.max(atMs, timeMsOf(message['created_at']) ?? atMs);
    const role = roleOf(message['sender']);
    const text = messageText(message);
    if (role !== undefined && text !== '') messages.push({ role, text, atMs });
  }
  return sessionOf({
    id: `claude-${textOf(fields['uuid']) ?? name}`,
    startedMs: startedMs || (messages[0]?.atMs ?? 0),
    messages,
    ...(title === undefined ? {} : { title }),
  });
}

function roleOf(sender: unknown): ImportedMessage['role'] | undefined {
  if (sender === 'human') return 'person';
  return sender === 'assistant' ? 'assistant' : undefined;
}

function messageText(message: Fields): string {
  const said = listOf(message['content']).flatMap((block) => {
    const fields = fieldsOf(block) ?? {};
    return fields['type'] === 'text' ? [textOf(fields['text']) ?? ''] : [];
  });
  const attached = listOf(message['attachments']).map((attachment) => {
    const fields = fieldsOf(attachment) ?? {};
    return `[file: ${textOf(fields['file_name']) ?? 'unnamed'}]\n${textOf(fields['extracted_content']) ?? ''}`;
  });
  const files = listOf(message['files']).map(
    (file) => `[file: ${textOf(fieldsOf(file)?.['file_name']) ?? 'unnamed'}]`,
  );
  const blocks = said.some((text) => text !== '') ? said : [textOf(message['text']) ?? ''];
  return [...blocks, ...attached, ...files]
    .filter((text) => text !== '')
    .join('\n\n')
    .trim();
}

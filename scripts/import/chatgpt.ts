/** ChatGPT's export, conversations.json: a tree of messages each, of which the branch last shown is taken. */
import { fieldsOf, listOf, textOf, timeMsOf, type Fields } from './fields.ts';
import { sessionOf, type ImportedMessage, type ImportedSession } from './imported-session.ts';

/** A branch is followed for at most so many messages, so that a tree with a loop in it ends. */
const branchLengthMax = 100_000;

export function isChatgpt(element: unknown): boolean {
  return fieldsOf(fieldsOf(element)?.['mapping']) !== undefined;
}

export function chatgptSession(element: unknown, name: string): ImportedSession | undefined {
  const fields = fieldsOf(element) ?? {};
  const id = textOf(fields['conversation_id']) ?? textOf(fields['id']) ?? name;
  const startedMs = timeMsOf(fields['create_time']) ?? 0;
  const title = textOf(fields['title']);
  const messages: ImportedMessage[] = [];
  let atMs = startedMs;
  for (const message of branchOf(fields)) {
    // Some messages have no time of their own: they were said no earlier than the one before.
    atMs = Math.max(atMs, timeMsOf(message['create_time']) ?? atMs);
    messages.push(...messageOf(message, atMs));
  }
  return sessionOf({
    id: `chatgpt-${id}`,
    startedMs: startedMs || (messages[0]?.atMs ?? 0),
    messages,
    ...(title === undefined ? {} : { title }),
  });
}

/** The messages from the root to the node last shown, oldest first. */
function branchOf(conversation: Fields): Fields[] {
  const mapping = fieldsOf(conversation['mapping']) ?? {};
  const nodeOf = (id: unknown) =>
    typeof id === 'string' && Object.hasOwn(mapping, id) ? fieldsOf(mapping[id]) : undefined;
  const branch: Fields[] = [];
  let node = nodeOf(conversation['current_node']) ?? nodeOf(lastLeaf(mapping));
  while (node !== undefined && branch.length < branchLengthMax) {
    const message = fieldsOf(node['message']);
    if (message !== undefined) branch.push(message);
    node = nodeOf(node['parent']);
  }
  return branch.toReversed();
}

/** Where the export names no current node: the last node without children. */
function lastLeaf(mapping: Fields): string | undefined {
  return Object.keys(mapping).findLast((id) => listOf(fieldsOf(mapping[id])?.['children']).length === 0);
}

/** Citations and the like, as the export marks them inside a text. */
const marks = /\uE200[^\uE201]*\uE201/g;

/** What the person and the assistant said to each other; tools, hidden messages and settings are left out. */
function messageOf(message: Fields, atMs: number): ImportedMessage[] {
  const role = roleOf(fieldsOf(message['author'])?.['role']);
  const isHidden = fieldsOf(message['metadata'])?.['is_visually_hidden_from_conversation'] === true;
  const recipient = message['recipient'] ?? 'all';
  if (role === undefined || isHidden || recipient !== 'all') return [];
  const text = contentText(fieldsOf(message['content']) ?? {})
    .replaceAll(marks, '')
    .trim();
  return text === '' ? [] : [{ role, text, atMs }];
}

function roleOf(role: unknown): ImportedMessage['role'] | undefined {
  if (role === 'user') return 'person';
  return role === 'assistant' ? 'assistant' : undefined;
}

function contentText(content: Fields): string {
  const type = content['content_type'];
  if (type !== 'text' && type !== 'multimodal_text') return '';
  return listOf(content['parts'])
    .map((part) => {
      if (typeof part === 'string') return part;
      const fields = fieldsOf(part) ?? {};
      if (fields['content_type'] === 'image_asset_pointer') return '[image]';
      return textOf(fields['text']) ?? '';
    })
    .filter((text) => text !== '')
    .join('\n');
}

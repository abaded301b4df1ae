/** Prompts as Qwen's chat template renders them, and tokens of four bytes: enough for what a prefix cache can and cannot keep. */
export interface FakeMessage {
  role: string;
  content?: string | null;
  reasoning_content?: string;
  tool_calls?: { function: { name: string; arguments: string } }[];
}

const tokenBytes = 4;

export function tokensOf(text: string | Buffer): number {
  return Math.ceil(Buffer.byteLength(text) / tokenBytes);
}

/** Tokens at the beginning that two prompts share. */
export function sharedTokens(a: Buffer, b: Buffer): number {
  const length = Math.min(a.length, b.length);
  let at = 0;
  while (at < length && a[at] === b[at]) at += 1;
  return Math.floor(at / tokenBytes);
}

export function renderPrompt(messages: readonly FakeMessage[], tools: readonly unknown[]): string {
  const [first, ...rest] = messages;
  const isSystem = first?.role === 'system';
  const system = [isSystem ? first.content : '', tools.length > 0 ? toolSection(tools) : '']
    .filter(Boolean)
    .join('\n\n');
  const turns = isSystem ? rest : messages;
  const lastUser = turns.findLastIndex(({ role }) => role === 'user');
  return [
    system === '' ? '' : block('system', system),
    // Reasoning is rendered after the last question alone.
    ...turns.map((message, at) => renderMessage(message, at > lastUser)),
    '<|im_start|>assistant\n',
  ].join('');
}

/** What the model itself wrote, as it stands in the cache after a reply. */
export function renderReply({
  reasoning,
  text,
  calls,
}: {
  reasoning: string;
  text: string;
  calls: string;
}): string {
  return (reasoning === '' ? '' : `<think>\n${reasoning}\n</think>\n\n`) + text + calls;
}

export function renderCall(name: string, args: string): string {
  return `\n<tool_call>\n{"name": ${JSON.stringify(name)}, "arguments": ${args}}\n</tool_call>`;
}

function renderMessage(
  { role, content, reasoning_content: reasoning, tool_calls: calls = [] }: FakeMessage,
  isNew: boolean,
): string {
  if (role === 'tool') return block('user', `<tool_response>\n${content ?? ''}\n</tool_response>`);
  if (role === 'user' || role === 'system') return block(role, content ?? '');
  // Any other role is dropped by the template.
  if (role !== 'assistant') return '';
  return block(
    role,
    renderReply({
      reasoning: isNew ? (reasoning ?? '') : '',
      text: content ?? '',
      calls: calls.map((call) => renderCall(call.function.name, call.function.arguments)).join(''),
    }),
  );
}

function block(role: string, content: string): string {
  return `<|im_start|>${role}\n${content}<|im_end|>\n`;
}

function toolSection(tools: readonly unknown[]): string {
  return [
    '# Tools\n\nYou may call one or more functions to assist with the user query.\n\nYou are provided with function signatures within <tools></tools> XML tags:\n<tools>',
    ...tools.map((tool) => JSON.stringify(tool)),
    '</tools>\n\nFor each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:\n<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>',
  ].join('\n');
}

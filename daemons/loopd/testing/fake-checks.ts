/** What a llama-server finds wrong with a request, word for word; most mistakes it takes without a word. */
import type { FakeMessage } from './fake-template.ts';

export interface FakeRefusal {
  readonly status: number;
  readonly error: Record<string, unknown>;
}

export interface ChatRequest {
  messages: FakeMessage[];
  tools?: { function?: unknown }[];
  tool_choice?: unknown;
  max_tokens?: number;
  stream?: boolean;
  stream_options?: { include_usage?: boolean };
  return_progress?: boolean;
  id_slot?: unknown;
  temperature?: unknown;
}

function refusal(status: number, type: string, message: string): FakeRefusal {
  return { status, error: { code: status, message, type } };
}

export const refusals = {
  loading: { status: 503, error: { message: 'Loading model', type: 'unavailable_error', code: 503 } },
  key: { status: 401, error: { message: 'Invalid API Key', type: 'authentication_error', code: 401 } },
  path: { status: 404, error: { message: 'File Not Found', type: 'not_found_error', code: 404 } },
  format: refusal(
    500,
    'server_error',
    'The model produced output that does not match the expected peg-native format',
  ),
} as const satisfies Record<string, FakeRefusal>;

export function checkChat(text: string): ChatRequest | FakeRefusal {
  let body: ChatRequest;
  try {
    body = JSON.parse(text) as ChatRequest;
  } catch {
    return refusal(
      500,
      'server_error',
      `[json.exception.parse_error.101] parse error at line 1, column ${text.length + 1}: syntax error while parsing value - unexpected end of input; expected '[', '{', or a literal`,
    );
  }
  return checkFields(body) ?? checkHistory(body.messages) ?? body;
}

function checkFields({
  messages,
  tools = [],
  tool_choice: choice,
  max_tokens: maxTokens,
  temperature,
}: ChatRequest) {
  const invalid = (message: string) => refusal(400, 'invalid_request_error', message);
  if (messages === undefined) return invalid("'messages' is required");
  if (!Array.isArray(messages)) return invalid("Expected 'messages' to be an array");
  if (temperature !== undefined && typeof temperature !== 'number')
    return invalid("Field 'temperature': [json.exception.type_error.302] type must be number, but is string");
  if (maxTokens !== undefined && maxTokens < -1)
    return invalid(
      `Field 'max_tokens': Value must be between -1 <= value <= 2147483647, but got ${maxTokens}`,
    );
  // An object, which would name a tool, is taken for "auto".
  if (typeof choice === 'string' && !['auto', 'none', 'required'].includes(choice))
    return invalid(`Invalid tool_choice: ${choice}`);
  const bare = tools.find((tool) => !tool.function);
  if (bare)
    return refusal(
      500,
      'server_error',
      `Failed to parse tools: Missing tool function: ${JSON.stringify(bare)}`,
    );
  return undefined;
}

/** The server parses the arguments of every call in the history, each time. */
function checkHistory(messages: readonly FakeMessage[]): FakeRefusal | undefined {
  for (const { role, content, tool_calls: calls } of messages) {
    if (role !== 'assistant' && (content === undefined || content === null))
      return refusal(400, 'invalid_request_error', "All non-assistant messages must contain 'content'");
    for (const call of calls ?? []) {
      try {
        JSON.parse(call.function.arguments);
      } catch (error) {
        return refusal(
          500,
          'server_error',
          `Failed to parse tool call arguments as JSON: [json.exception.parse_error.101] ${(error as Error).message}`,
        );
      }
    }
  }
  return undefined;
}

export function overflow(promptTokens: number, contextTokens: number): FakeRefusal {
  return {
    status: 400,
    error: {
      code: 400,
      message: `request (${promptTokens} tokens) exceeds the available context size (${contextTokens} tokens), try increasing it`,
      type: 'exceed_context_size_error',
      n_prompt_tokens: promptTokens,
      n_ctx: contextTokens,
    },
  };
}

/** What a tool of an MCP server answered, as text for the model. */
import type { ToolOutcome } from './tool.ts';

interface Content {
  readonly type?: unknown;
  readonly text?: unknown;
  readonly data?: unknown;
  readonly mimeType?: unknown;
  readonly name?: unknown;
  readonly uri?: unknown;
  readonly resource?: {
    readonly uri?: unknown;
    readonly text?: unknown;
    readonly blob?: unknown;
    readonly mimeType?: unknown;
  };
}

interface McpResult {
  readonly content?: unknown;
  readonly structuredContent?: unknown;
  readonly isError?: unknown;
  /** The shape of protocol revisions before content blocks. */
  readonly toolResult?: unknown;
}

/** Text as it is; what a text model cannot take is named with its type and size. */
export function renderResult({ content, structuredContent, isError, toolResult }: McpResult): ToolOutcome {
  const parts = Array.isArray(content) ? content.map(renderContent).filter((part) => part !== '') : [];
  const structured = structuredContent ?? toolResult;
  if (parts.length === 0 && structured !== undefined) parts.push(JSON.stringify(structured));
  const text = parts.length === 0 ? '(the tool answered with nothing)' : parts.join('\n');
  return { status: isError === true ? 'error' : 'ok', text };
}

function renderContent(content: Content): string {
  switch (content?.type) {
    case 'text':
      return typeof content.text === 'string' ? content.text : '';
    case 'image':
    case 'audio':
      return `[${content.type}: ${String(content.mimeType)}, ${base64Bytes(content.data)} bytes, not shown]`;
    case 'resource': {
      const { uri, text, blob, mimeType } = content.resource ?? {};
      if (typeof text === 'string') return `[resource ${String(uri)}]\n${text}`;
      return `[resource ${String(uri)}: ${typeof mimeType === 'string' ? mimeType : 'binary'}, ${base64Bytes(blob)} bytes, not shown]`;
    }
    case 'resource_link':
      return `[link ${String(content.name)}: ${String(content.uri)}]`;
    default:
      return JSON.stringify(content) ?? '';
  }
}

function base64Bytes(data: unknown): number {
  return typeof data === 'string' ? Buffer.byteLength(data, 'base64') : 0;
}

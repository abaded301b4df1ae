/** A turn as it comes over the channel, printed for a person: text as it streams, tool calls small. */
import type { Update } from './channel.ts';
import type { Output } from './output.ts';

export interface TurnReply {
  stopReason: string;
  _meta?: {
    memory?: { file: string; changed: { before: string | null; after: string | null }[] }[];
    memory_refused?: { code: string; file?: string }[];
    claimed_save_without_write?: boolean;
    [key: string]: unknown;
  };
}

const toolTextCharsMax = 100;

/** Prints updates of one session; `answer` is the text of the turn so far. */
export class TurnView {
  readonly #out: Output;
  readonly #isQuiet: boolean;
  #isAtLineStart = true;
  answer = '';

  /** Quiet: collects the answer and prints nothing. */
  constructor(out: Output, isQuiet = false) {
    this.#out = out;
    this.#isQuiet = isQuiet;
  }

  take({ update }: Update): void {
    switch (update.sessionUpdate) {
      case 'agent_message_chunk':
        if (update.content.type === 'text') this.#text(update.content.text);
        break;
      case 'tool_call':
        this.#remark(`· ${update.title}`);
        break;
      case 'tool_call_update':
        if (update.status === 'failed') this.#remark(`· failed: ${contentText(update.content)}`);
        break;
      default:
        break;
    }
  }

  #text(text: string): void {
    this.answer += text;
    if (this.#isQuiet || text === '') return;
    this.#out.write(text);
    this.#isAtLineStart = text.endsWith('\n');
  }

  #remark(text: string): void {
    if (this.#isQuiet) return;
    this.endLine();
    this.#out.line(
      this.#out.dim(
        text.length > toolTextCharsMax ? `${text.slice(0, toolTextCharsMax).toWellFormed()}…` : text,
      ),
    );
  }

  endLine(): void {
    if (!this.#isAtLineStart && !this.#isQuiet) this.#out.line();
    this.#isAtLineStart = true;
  }

  /** What was remembered, and what was only claimed to be. */
  end({ stopReason, _meta }: TurnReply): void {
    this.endLine();
    for (const { file, changed } of _meta?.memory ?? []) {
      for (const { before, after } of changed) {
        this.#remark(`${after === null ? 'forgot' : 'remembered'} in ${file}.md: ${after ?? before ?? ''}`);
      }
    }
    for (const { code, file } of _meta?.memory_refused ?? [])
      this.#remark(
        `not saved${file === undefined ? '' : ` in ${file}.md`}: ${code} (loopctl explain ${code})`,
      );
    if (_meta?.claimed_save_without_write === true)
      this.#remark('It says that it saved something, but nothing was written.');
    if (stopReason !== 'end_turn') this.#remark(`(${stopReason})`);
  }
}

function contentText(content: unknown): string {
  const parts = Array.isArray(content) ? (content as { content?: { text?: string } }[]) : [];
  return parts.map((part) => part.content?.text ?? '').join(' ');
}

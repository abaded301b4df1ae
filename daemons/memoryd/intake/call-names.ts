/** Which tool each call of the running turn names, so that results that are memory's own never come back as history. */
import type { SessionRecord, ToolCall } from '../../../shared/protocol/sessions.ts';

/** Calls without a result yet; a turn with more forgets the oldest, whose result is then indexed. */
const openCallsMax = 512;

/** What these return is memory itself, or a catalogue. */
const unfindableTools: ReadonlySet<string> = new Set(['recall', 'memory', 'find_tool']);
/** Names one of these in its arguments; a server of ours offers its tools as `<server>__<tool>` or the like. */
const indirectTool = 'call_tool';
const lastPart = /^.*(?:__|[./:])/;

export type OpenCalls = readonly (readonly [call: string, tool: string])[];

export class CallNames {
  readonly #tools: Map<string, string>;

  constructor(open: OpenCalls = []) {
    this.#tools = new Map(open);
  }

  /** @returns whether the record may be found, as far as its tool decides it. Records come in their order. */
  take(record: SessionRecord): boolean {
    if (record.type === 'turn') this.#tools.clear();
    else if (record.type === 'assistant') this.#note(record.calls);
    else if (record.type === 'result') return this.#answer(record.call);
    return true;
  }

  /** To go on from, in a later reading of the same log. */
  get open(): OpenCalls {
    return [...this.#tools];
  }

  #note(calls: readonly ToolCall[] | undefined): void {
    if (!Array.isArray(calls)) return;
    for (const call of calls as readonly unknown[]) {
      const { id, name, arguments: args } = (call ?? {}) as Partial<ToolCall>;
      if (typeof id !== 'string' || typeof name !== 'string') continue;
      const tool = name === indirectTool ? namedIn(args) : name;
      this.#tools.set(id, tool.replace(lastPart, ''));
      const [oldest] = this.#tools.keys();
      if (this.#tools.size > openCallsMax && oldest !== undefined) this.#tools.delete(oldest);
    }
  }

  #answer(call: string): boolean {
    const tool = this.#tools.get(call);
    this.#tools.delete(call);
    return tool === undefined || !unfindableTools.has(tool);
  }
}

/** The tool that a `call_tool` is for; small models wrap the arguments in a string. */
function namedIn(args: ToolCall['arguments'] | undefined): string {
  if (typeof args === 'string') {
    try {
      return namedIn(JSON.parse(args) as Record<string, unknown>);
    } catch {
      return indirectTool;
    }
  }
  const name = args?.['name'] ?? args?.['tool'];
  return typeof name === 'string' ? name : indirectTool;
}

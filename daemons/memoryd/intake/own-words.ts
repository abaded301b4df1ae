/** Which records of a log are memory's own words: results of its tools, and answers quoted from them by rule. Never history. */
import type { SessionRecord, SessionRecordOf, ToolCall, Usage } from '../../../shared/protocol/sessions.ts';

/** Calls without a result yet; a turn with more forgets the oldest, whose result is then indexed. */
const openCallsMax = 512;

/** What these return is memory itself, or a catalogue. */
const unfindableTools: ReadonlySet<string> = new Set(['recall', 'memory', 'find_tool']);
/** Names one of these in its arguments; a server of ours offers its tools as `<server>__<tool>` or the like. */
const indirectTool = 'call_tool';
const lastPart = /^.*(?:__|[./:])/;

/** The fixed responder, as a session names its model: it says nothing but what recall and memory told it. */
const modelByRule = 'builtin';

/** What a later reading of the same log goes on from. */
export interface OwnWordsState {
  /** Which tool each call of the running turn names. */
  readonly openCalls: readonly (readonly [call: string, tool: string])[];
  /** The session began without a model. */
  readonly isByRule?: boolean;
}

export class OwnWords {
  readonly #tools: Map<string, string>;
  #isByRule: boolean;

  constructor({ openCalls, isByRule = false }: OwnWordsState = { openCalls: [] }) {
    this.#tools = new Map(openCalls);
    this.#isByRule = isByRule;
  }

  /** @returns whether the record is history, as far as this decides it. Records come in their order. */
  take(record: SessionRecord): boolean {
    switch (record.type) {
      case 'session':
        this.#isByRule = record.model === modelByRule;
        return true;
      case 'turn':
        this.#tools.clear();
        return true;
      case 'assistant':
        this.#note(record.calls);
        return !this.#isSaidByRule(record);
      case 'result':
        return this.#answer(record.call);
      default:
        return true;
    }
  }

  get state(): OwnWordsState {
    return { openCalls: [...this.#tools], isByRule: this.#isByRule };
  }

  /** A model counts its tokens, so a reply that counts none tells the two apart where a session had both. */
  #isSaidByRule(record: SessionRecordOf<'assistant'>): boolean {
    // What another program wrote into a log may be anything.
    const usage = record.usage as Usage | null | undefined;
    if (usage?.completion_tokens !== undefined) return false;
    return this.#isByRule || (typeof usage === 'object' && usage !== null && Object.keys(usage).length === 0);
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

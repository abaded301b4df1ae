/** loopctl chat: a conversation on a terminal; Ctrl-C cancels a turn, and a dumb terminal is fine. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline/promises';
import { toAppError } from '../../../shared/errors.ts';
import type { Channel } from '../channel.ts';
import type { CommandContext, Options, Run } from '../command.ts';
import { errorText } from '../output.ts';
import { TurnView, type TurnReply } from '../turn-view.ts';
import { viewBoth } from './memory.ts';
import { sessionFor } from './prompt.ts';
import { recall } from './recall.ts';
import { sessions } from './sessions.ts';

const help = `/new          a new session (it knows what was remembered)
/sessions     list the sessions
/memory       show both curated files
/recall TEXT  find what past sessions say
/help         this list
/quit         leave (so does Ctrl-D)
Ctrl-C        cancel the turn that runs
`;

const historyLinesMax = 1000;

export const chat: Run = async (context, _args, options) => {
  const channel = await context.channel();
  const historyFile = join(context.home.home, '.chat-history');
  const lines = createInterface({
    input: process.stdin,
    output: process.stdout,
    terminal: context.out.isTerminal,
    history: readHistory(historyFile),
    historySize: historyLinesMax,
  });
  const conversation = new Conversation(context, channel, lines);
  await conversation.start(options);
  lines.on('SIGINT', () => conversation.interrupt());
  lines.on('history', (history: string[]) => writeHistory(historyFile, history));
  lines.setPrompt('> ');
  lines.prompt();
  for await (const line of lines) {
    if (!(await conversation.take(line.trim()))) break;
    lines.prompt();
  }
  lines.close();
};

class Conversation {
  readonly #context: CommandContext;
  readonly #channel: Channel;
  readonly #lines: Interface;
  #session = '';
  #isRunning = false;

  constructor(context: CommandContext, channel: Channel, lines: Interface) {
    this.#context = context;
    this.#channel = channel;
    this.#lines = lines;
    channel.onAsk = async (question, choices) => {
      const list = choices.map(({ name }, at) => `${at + 1} ${name}`).join(', ');
      const answer = await lines.question(`${question} [${list}] `);
      return choices[Number(answer) - 1]?.id;
    };
  }

  async start(options: Options): Promise<void> {
    this.#session = await sessionFor(this.#channel, options);
    const { out } = this.#context;
    out.line(out.dim(`session ${this.#session}; /help for help`));
  }

  /** Ctrl-C: the turn that runs, else the chat. */
  interrupt(): void {
    if (this.#isRunning) void this.#channel.notify('session/cancel', { sessionId: this.#session });
    else this.#lines.close();
  }

  /** @returns false when the chat is over */
  async take(line: string): Promise<boolean> {
    if (line === '') return true;
    if (line === '/quit' || line === '/exit') return false;
    try {
      if (line.startsWith('/')) await this.#command(line);
      else await this.#turn(line);
    } catch (thrown) {
      // The chat goes on: what failed is said, the next line may work.
      process.stderr.write(errorText(toAppError(thrown)));
    }
    return true;
  }

  async #command(line: string): Promise<void> {
    const [, name = '', rest = ''] = /^\/(\S*)\s*(.*)$/s.exec(line) ?? [];
    switch (name) {
      case 'new':
        return this.start({});
      case 'sessions':
        return sessions(this.#context, [], {});
      case 'memory':
        return viewBoth(this.#context, [], {});
      case 'recall':
        return recall(this.#context, [rest], { limit: '5', window: '0' });
      case 'help':
        return this.#context.out.write(help);
      default:
        this.#context.out.line(`There is no /${name}; /help lists what there is.`);
    }
  }

  async #turn(text: string): Promise<void> {
    const view = new TurnView(this.#context.out);
    this.#channel.onUpdate = (update) => {
      if (update.sessionId === this.#session) view.take(update);
    };
    this.#isRunning = true;
    try {
      const prompt = [{ type: 'text', text }];
      view.end(
        await this.#channel.request<TurnReply>('session/prompt', { sessionId: this.#session, prompt }),
      );
    } finally {
      this.#isRunning = false;
      view.endLine();
    }
  }
}

function readHistory(path: string): string[] {
  return existsSync(path)
    ? readFileSync(path, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
    : [];
}

function writeHistory(path: string, history: readonly string[]): void {
  writeFileSync(path, `${history.slice(0, historyLinesMax).join('\n')}\n`, { mode: 0o600 });
}

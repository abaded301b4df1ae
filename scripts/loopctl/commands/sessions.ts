/** loopctl sessions, show, delete: what was said, and when. */
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../../../shared/errors.ts';
import { isSessionId, sessionLogSuffix, type SessionRecord } from '../../../shared/protocol/sessions.ts';
import { LineSplitter } from '../../../shared/wire.ts';
import { textOption } from '../arguments.ts';
import type { CommandContext, Run } from '../command.ts';
import { tableOf, type Output } from '../output.ts';
import type { Update } from '../channel.ts';
import { localTime } from './recall.ts';

interface Listed {
  sessions: { sessionId: string; title?: string | null; updatedAt?: string | null }[];
  nextCursor?: string | null;
}

export const sessions: Run = async (context, _args, options) => {
  const channel = await context.channel();
  const reply = await channel.request<Listed>('session/list', textOption(options, 'cursor', 'cursor'));
  const rows = reply.sessions.map(({ sessionId, title, updatedAt }) => [
    sessionId,
    updatedAt ? localTime(updatedAt) : '',
    title ?? '',
  ]);
  context.out.result(reply, () =>
    [
      tableOf(['session', 'last', 'title'], rows),
      ...(reply.nextCursor ? [`more: --cursor ${reply.nextCursor}`] : []),
    ].join('\n'),
  );
};

export const show: Run = async (context, [id = ''], options) => {
  if (options['baseline'] === true) return showBaseline(context, id);
  const channel = await context.channel();
  const updates: Update[] = [];
  channel.onUpdate = (update) => void updates.push(update);
  await channel.request('session/load', { sessionId: id, cwd: process.cwd(), mcpServers: [] });
  context.out.result({ session: id, updates: updates.map(({ update }) => update) }, () =>
    transcriptOf(updates, context.out),
  );
};

function transcriptOf(updates: readonly Update[], out: Output): string {
  let text = '';
  let speaker = '';
  for (const { update } of updates) {
    if (update.sessionUpdate === 'user_message_chunk' || update.sessionUpdate === 'agent_message_chunk') {
      const name = update.sessionUpdate === 'user_message_chunk' ? 'you' : 'agent';
      const said = update.content.type === 'text' ? update.content.text : `(${update.content.type})`;
      text += name === speaker ? said : `${text === '' ? '' : '\n\n'}${out.bold(name)}: ${said}`;
      speaker = name;
    } else if (update.sessionUpdate === 'tool_call') {
      text += `\n${out.dim(`· ${update.title}`)}`;
      speaker = '';
    }
  }
  return text;
}

const headBytesMax = 16 * 1024 * 1024;

/** The first record of the log holds the baseline, frozen. */
async function showBaseline({ home, out }: CommandContext, id: string): Promise<void> {
  if (!isSessionId(id)) throw new AppError('session-unknown', `there is no session ${id}`);
  const splitter = new LineSplitter(headBytesMax);
  try {
    for await (const chunk of createReadStream(join(home.sessions, `${id}${sessionLogSuffix}`))) {
      const [line] = splitter.push(chunk as Buffer);
      if (line === undefined) continue;
      const record = JSON.parse(line) as SessionRecord;
      if (record.type !== 'session') break;
      return out.result(record.baseline, () => record.baseline.system);
    }
  } catch (cause) {
    throw new AppError('session-unknown', `there is no session ${id}`, { cause });
  }
  throw new AppError('session-damaged', `the log of ${id} does not start with its session`);
}

export const remove: Run = async (context, [id = '']) => {
  const channel = await context.channel();
  const reply = await channel.request('session/delete', { sessionId: id });
  context.out.result(reply, () => `${id} is deleted and forgotten`);
};

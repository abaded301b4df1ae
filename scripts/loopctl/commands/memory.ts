/** loopctl memory and block: the curated files, their history, and what waits for approval. */
import {
  curatedFiles,
  type CuratedFile,
  type MemoryReply,
  type MemoryShow,
} from '../../../shared/protocol/replies.ts';
import { countOption, fileOption, textOption } from '../arguments.ts';
import type { CommandContext, Options, Run } from '../command.ts';
import { localTime } from './recall.ts';

const gaugeWidth = 24;

function gauge(used: number, limit: number): string {
  const filled = Math.min(gaugeWidth, Math.round((used / limit) * gaugeWidth));
  return `[${'#'.repeat(filled)}${'.'.repeat(gaugeWidth - filled)}] ${used} of ${limit} characters`;
}

export const viewBoth: Run = async ({ memory, out }) => {
  const shown = await Promise.all(curatedFiles.map((file) => memory().call('memory/show', { file })));
  out.result({ files: shown }, () => shown.map(showText).join('\n\n'));
};

export const view: Run = async ({ memory, out }, _args, options) => {
  const reply = await memory().call('memory/show', {
    file: fileOption(options),
    ...textOption(options, 'at', 'at'),
  });
  out.result(reply, () => showText(reply));
};

function showText({ file, used, limit, entries }: MemoryShow): string {
  const lines = entries.map(({ text, created, changed, origin, by, near }, at) => {
    const facts = [
      changed === undefined ? '' : `changed ${localTime(changed)}`,
      created === undefined || created === changed ? '' : `created ${localTime(created)}`,
      by === undefined ? '' : `by ${by === 'hand' || by === 'ops' ? 'hand' : 'the agent'}`,
      origin?.session === undefined
        ? ''
        : `in ${origin.session}${origin.turn === undefined ? '' : ` turn ${origin.turn}`}`,
      near === undefined ? '' : `nearly the same as ${near + 1}`,
    ].filter((fact) => fact !== '');
    return `${String(at + 1).padStart(3)}  ${text.replaceAll('\n', '\n     ')}${facts.length === 0 ? '' : `\n     (${facts.join(', ')})`}`;
  });
  return [`${file}.md  ${gauge(used, limit)}`, ...lines].join('\n');
}

async function change(context: CommandContext, options: Options, params: object): Promise<void> {
  const reply = await context
    .memory()
    .call('memory', { file: fileOption(options), ...params, ...textOption(options, 'reason', 'reason') });
  context.out.result(reply, () => replyText(reply));
}

function replyText({ file, used, limit, changed, note }: MemoryReply): string {
  const lines = changed.flatMap(({ before, after }) => [
    ...(before === null ? [] : [`- ${before}`]),
    ...(after === null ? [] : [`+ ${after}`]),
  ]);
  return [...lines, ...(note === undefined ? [] : [note]), `${file}.md  ${gauge(used, limit)}`].join('\n');
}

export const addEntry: Run = (context, [text = ''], options) =>
  change(context, options, { action: 'add', text });
export const replaceEntry: Run = (context, [old = '', text = ''], options) =>
  change(context, options, { action: 'replace', old, text });
export const removeEntry: Run = (context, [old = ''], options) =>
  change(context, options, { action: 'remove', old });
export const undo: Run = (context, _args, options) => change(context, options, { action: 'undo' });

export const consolidate: Run = async (context, _args, options) => {
  const entries = await context.inputJson<string[]>('entries');
  await change(context, options, {
    action: 'consolidate',
    entries,
    ...textOption(options, 'expect', 'expect'),
  });
};

export const history: Run = async ({ memory, out }, _args, options) => {
  const reply = await memory().call('memory/log', {
    file: fileOption(options),
    ...countOption(options, 'limit', 'limit'),
    ...textOption(options, 'cursor', 'cursor'),
  });
  out.result(reply, () =>
    reply.changes
      .map(({ at, action, by, reason, changed }) => {
        const head = `${localTime(at)}  ${action}  by ${by}${reason === undefined ? '' : `: ${reason}`}`;
        const lines = changed.flatMap(({ before, after }) => [
          ...(before === null ? [] : [`  - ${before.replaceAll('\n', '\n    ')}`]),
          ...(after === null ? [] : [`  + ${after.replaceAll('\n', '\n    ')}`]),
        ]);
        return [head, ...lines].join('\n');
      })
      .join('\n'),
  );
};

export const pending: Run = async ({ memory, out }) => {
  const reply = await memory().call('memory/pending', {});
  out.result(reply, () =>
    reply.pending.length === 0
      ? 'Nothing waits.'
      : reply.pending
          .map(({ id, file, at, params }) => `${id}  ${file}  ${localTime(at)}  ${JSON.stringify(params)}`)
          .join('\n'),
  );
};

async function decide({ memory, out }: CommandContext, id: string, approve: boolean): Promise<void> {
  const reply = await memory().call('memory/decide', { id, approve });
  out.result(reply, () => (reply.reply === undefined ? reply.decided : replyText(reply.reply)));
}

export const approve: Run = (context, [id = '']) => decide(context, id, true);
export const reject: Run = (context, [id = '']) => decide(context, id, false);

export const block: Run = async ({ memory, out }) => {
  const reply = await memory().call('block', {});
  out.result(reply, () => reply.text);
};

/** For the chat: one line a file. */
export function usageLine(file: CuratedFile, { used, limit }: { used: number; limit: number }): string {
  return `${file}.md  ${gauge(used, limit)}`;
}

/** loopctl recall: hits with who said it, when and where, and their neighbours dimmed. */
import type { Hit, RecallSource } from '../../../shared/protocol/replies.ts';
import { choiceOption, countOption, textOption } from '../arguments.ts';
import type { Run } from '../command.ts';
import type { Output } from '../output.ts';

export const recall: Run = async ({ memory, out }, words, options) => {
  const sources = typeof options['sources'] === 'string' ? options['sources'].split(',') : undefined;
  const reply = await memory().call('recall', {
    query: words.join(' '),
    ...countOption(options, 'limit', 'limit'),
    ...textOption(options, 'since', 'since'),
    ...textOption(options, 'until', 'until'),
    ...textOption(options, 'session', 'session'),
    ...textOption(options, 'excludeSession', 'exclude_session'),
    ...(sources === undefined ? {} : { sources: sources as RecallSource[] }),
    ...countOption(options, 'window', 'window'),
    ...countOption(options, 'maxChars', 'max_chars'),
    ...choiceOption(options, 'order', ['relevance', 'newest', 'oldest']),
    ...textOption(options, 'cursor', 'cursor'),
  });
  out.result(reply, () => {
    const { hits, index, forgotten, note, next } = reply;
    const remarks = [
      hits.length === 0 ? 'Nothing found.' : '',
      index.state === 'ok' && index.behind === 0
        ? ''
        : `The index is ${index.state}, ${index.behind} records behind.`,
      forgotten === 0 ? '' : `${forgotten} forgotten sessions are left out.`,
      note ?? '',
      next === undefined ? '' : `More: --cursor ${next}`,
    ];
    return [
      ...hits.map((hit) => hitText(hit, out)),
      ...remarks.filter((remark) => remark !== '').map((remark) => out.dim(remark)),
    ].join('\n');
  });
};

function hitText(hit: Hit, out: Output): string {
  const where = hit.session ?? `run ${hit.run ?? ''}`;
  const who = hit.name ?? hit.role;
  const head = `${out.bold(localTime(hit.at))}  ${who}  ${out.dim(`${where} #${hit.record}${hit.ref === undefined ? '' : ` ${hit.ref}`}`)}`;
  const around = (text: string) => out.dim(`    ${text.replaceAll('\n', '\n    ')}`);
  return [
    head,
    ...hit.before.map(({ role, text }) => around(`${role}: ${text}`)),
    `  ${hit.text.replaceAll('\n', '\n  ')}${hit.cut === true ? ' …' : ''}`,
    ...hit.after.map(({ role, text }) => around(`${role}: ${text}`)),
    '',
  ].join('\n');
}

export function localTime(at: string): string {
  const date = new Date(at);
  const two = (value: number) => String(value).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

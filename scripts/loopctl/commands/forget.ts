/** loopctl forget: from logs, index, records and curated history, with a report of what was found where. */
import { ParamsError } from '../../../shared/params-error.ts';
import type { ForgetReply } from '../../../shared/protocol/replies.ts';
import { textOption } from '../arguments.ts';
import type { CommandContext, Run } from '../command.ts';

export const forget: Run = async (context, _args, options) => {
  const what = {
    ...textOption(options, 'session', 'session'),
    ...textOption(options, 'run', 'run_id'),
    ...textOption(options, 'text', 'text'),
  };
  if (Object.keys(what).length !== 1)
    throw new ParamsError('what', 'one of --session, --run and --text is wanted');
  const isDry = options['dryRun'] === true;
  const logs = isDry ? undefined : await forgetLogs(context, what);
  const reply = await context.memory().call('forget', { ...what, dry_run: isDry });
  context.out.result({ ...reply, logs }, () => reportOf(reply));
};

/** The logs are loopd's: a session goes whole, a text goes with the turns that hold it. */
async function forgetLogs(
  context: CommandContext,
  what: { session?: string; text?: string },
): Promise<unknown> {
  if (what.session === undefined && what.text === undefined) return undefined;
  const channel = await context.channel();
  return channel.request('_loopkeep/forget', {
    ...(what.session === undefined ? {} : { session: what.session }),
    ...(what.text === undefined ? {} : { text: what.text }),
  });
}

function reportOf({ dry_run, sessions, records, curated, index, baselines, backups }: ForgetReply): string {
  return [
    dry_run ? 'Nothing was changed. This would go:' : 'Forgotten:',
    `  sessions  ${sessions.length === 0 ? 'none' : sessions.join(' ')}`,
    `  records   ${records}`,
    ...curated.map(({ file, entries }) => `  ${file}.md  ${entries} entries`),
    `  index     ${index}`,
    ...(baselines.length === 0
      ? []
      : [`These sessions carry it in their frozen baseline: ${baselines.join(' ')}`]),
    ...(backups.length === 0
      ? []
      : [`These backups were made before and may still hold it: ${backups.join(' ')}`]),
  ].join('\n');
}

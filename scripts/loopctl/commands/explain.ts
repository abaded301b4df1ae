/** loopctl explain: a runbook entry, or the list of them, without any daemon. */
import { readFileSync } from 'node:fs';
import { assetPath } from '../../../shared/assets.ts';
import { errorKinds } from '../../../shared/errors.ts';
import { ParamsError } from '../../../shared/params-error.ts';
import type { Run } from '../command.ts';
import { tableOf } from '../output.ts';

// oxlint-disable-next-line require-await -- a command is asynchronous
export const explain: Run = async ({ out }, [code]) => {
  if (code === undefined) {
    const rows = Object.entries(errorKinds).map(([name, { meaning, exit }]) => [name, String(exit), meaning]);
    out.result(errorKinds, () => tableOf(['code', 'exit', 'meaning'], rows));
    return;
  }
  if (!Object.hasOwn(errorKinds, code))
    throw new ParamsError('code', `there is no code ${code}; loopctl explain lists them`, code);
  const text = readFileSync(assetPath(`runbook/${code}.md`), 'utf8');
  out.result({ code, ...errorKinds[code as keyof typeof errorKinds], text }, () =>
    text.replace(/^---\n.*?\n---\n+/s, ''),
  );
};

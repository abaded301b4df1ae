/** loopctl doctor: looks at everything, changes nothing, and says for each fault what to do. */
import { errorKinds } from '../../../shared/errors.ts';
import { ParamsError } from '../../../shared/params-error.ts';
import type { Run } from '../command.ts';
import { examine } from '../doctor/examine.ts';
import type { Finding } from '../doctor/finding.ts';

export const doctor: Run = async (context, [code], options) => {
  if (code !== undefined && !Object.hasOwn(errorKinds, code))
    throw new ParamsError('code', `there is no code ${code}; loopctl explain lists them`, code);
  const all = await examine(context, options);
  const findings = code === undefined ? all : all.filter((finding) => finding.code === code);
  const faults = findings.filter((finding) => finding.code !== undefined);
  context.out.result({ ok: faults.length === 0, checks: all.length, findings }, () =>
    [
      ...findings.map(lineOf),
      code !== undefined && findings.length === 0
        ? `ok     ${all.length} checks, none of them finds ${code}`
        : `doctor: ${faults.length === 0 ? 'ok' : `${faults.length} faults`}`,
    ].join('\n'),
  );
  if (faults.length > 0) process.exitCode = 1;
};

export function lineOf({ what, code, text, mend }: Finding): string {
  if (code === undefined) return `ok     ${what}: ${text}`;
  return `FAULT  ${code}  ${what}: ${text}\n       ${mend ?? ''}${mend?.includes(`explain ${code}`) === true ? '' : `; loopctl explain ${code}`}`;
}

/** All checks in order, over what both daemons say and what lies on the disk. */
import { readConfig, type Config } from '../../../shared/config.ts';
import { toAppError } from '../../../shared/errors.ts';
import { loopdSettings, memorydSettings, type SettingsTable } from '../../../shared/settings.ts';
import type { CommandContext, Options } from '../command.ts';
import { both } from '../daemon-status.ts';
import { fault, unseen, type Check, type Finding, type Patient } from './finding.ts';
import { checkClock, checkModel, checkTools, checkUnits, checkVersions } from './loop-checks.ts';
import { checkCurated, checkIndex, checkLogs, checkStoreState } from './memory-checks.ts';
import { checkDisk, checkFolders, checkLocks, checkSettings, checkSockets } from './place-checks.ts';

const checks: Readonly<Record<string, Check>> = {
  settings: checkSettings,
  folders: checkFolders,
  sockets: checkSockets,
  locks: checkLocks,
  disk: checkDisk,
  store: checkStoreState,
  index: checkIndex,
  curated: checkCurated,
  logs: checkLogs,
  model: checkModel,
  tools: checkTools,
  versions: checkVersions,
  clock: checkClock,
  units: checkUnits,
};

export async function examine(context: CommandContext, options: Options): Promise<Finding[]> {
  const patient = await patientOf(context, options);
  const findings: Finding[] = [];
  for (const [name, check] of Object.entries(checks)) {
    try {
      findings.push(...(await check(patient)));
    } catch (thrown) {
      findings.push(unseen(name, thrown));
    }
  }
  return findings;
}

async function patientOf(context: CommandContext, options: Options): Promise<Patient> {
  const home = typeof options['home'] === 'string' ? options['home'] : undefined;
  const file = typeof options['config'] === 'string' ? options['config'] : undefined;
  const configFaults: Finding[] = [];
  const read = <T extends SettingsTable>(
    name: string,
    table: T,
    from: string | undefined,
  ): Config<T> | undefined => {
    try {
      return readConfig(table, { name, home, file: from });
    } catch (thrown) {
      const { code, message } = toAppError(thrown);
      configFaults.push(fault(`settings ${name}`, code, [message, `mend that line, then: ${name} check`]));
      return undefined;
    }
  };
  const memoryd = read('memoryd', memorydSettings, file);
  const loopd = read('loopd', loopdSettings, undefined);
  return {
    home: context.home,
    memorydSettings: memoryd?.settings,
    loopdSettings: loopd?.settings,
    configFaults,
    ...(await both(context)),
  };
}

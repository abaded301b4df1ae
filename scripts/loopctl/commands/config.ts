/** loopctl config show: every setting in force, and where its value came from. */
import { readConfig } from '../../../shared/config.ts';
import { loopdSettings, memorydSettings, type SettingsTable } from '../../../shared/settings.ts';
import type { Run } from '../command.ts';
import { tableOf } from '../output.ts';

interface Shown {
  daemon: string;
  setting: string;
  value: unknown;
  origin: string;
}

// oxlint-disable-next-line require-await -- a command is asynchronous
export const show: Run = async ({ out }, _args, options) => {
  const home = typeof options['home'] === 'string' ? options['home'] : undefined;
  const shown = [
    ...settingsOf('memoryd', memorydSettings, home),
    ...settingsOf('loopd', loopdSettings, home),
  ];
  const rows = shown.map(({ daemon, setting, value, origin }) => [
    daemon,
    setting,
    JSON.stringify(value),
    origin,
  ]);
  out.result({ settings: shown }, () => tableOf(['daemon', 'setting', 'value', 'from'], rows));
};

function settingsOf(daemon: string, table: SettingsTable, home: string | undefined): Shown[] {
  const { settings, origins } = readConfig(table, { name: daemon, home });
  return Object.entries(settings).flatMap(([section, values]) =>
    Object.entries(values).map(([key, value]) => ({
      daemon,
      setting: `${section}.${key}`,
      value,
      origin: origins.get(`${section}.${key}`) ?? 'default',
    })),
  );
}

/**
 * The man pages, made from the tables of commands, settings and errors. Usage: man.ts FOLDER
 * writes FOLDER/man1/loopctl.1, FOLDER/man7/loopkeep.7, FOLDER/man8/memoryd.8 and loopd.8
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { errorKinds } from '../../shared/errors.ts';
import { loopdSettings, memorydSettings, type SettingsTable } from '../../shared/settings.ts';
import { version } from '../../shared/version.ts';
import { commands, groups } from '../loopctl/commands.ts';

/** Every page, by its path below a man folder. */
export function manPages(): Record<string, string> {
  return {
    'man1/loopctl.1': loopctlPage(),
    'man7/loopkeep.7': overviewPage(),
    'man8/memoryd.8': daemonPage('memoryd', 'keep what an agent remembers', memorydSettings),
    'man8/loopd.8': daemonPage('loopd', "run an agent's turns against a local model", loopdSettings),
  };
}

/** Text as roff takes it: a backslash, and a line that begins with a control character, mean themselves. */
function roff(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll(/^(?=[.'])/gm, '\\&')
    .replaceAll(/[^\p{ASCII}]/gu, (character) => `\\[u${hexOf(character)}]`);
}

const hexOf = (character: string) =>
  (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');

const page = (name: string, section: number, about: string, parts: readonly string[]): string =>
  `${[
    `.TH ${name.toUpperCase()} ${section} "" "loopkeep ${version}"`,
    '.SH NAME',
    `${name} \\- ${roff(about)}`,
    ...parts,
  ].join('\n')}\n`;

const item = (tag: string, text: string): string => `.TP\n\\fB${roff(tag)}\\fR\n${roff(text)}`;

function loopctlPage(): string {
  const listed = Object.entries(groups).flatMap(([group, title]) => [
    `.SS ${roff(title.replace(/:$/, ''))}`,
    ...commands
      .filter((command) => command.group === group)
      .map(({ path, args, about, options = [], example }) =>
        [
          item(`loopctl ${path}${args === undefined ? '' : ` ${args}`}`, about),
          ...options.map(([flags, meaning]) => `.br\n\\fB${roff(flags)}\\fR\n${roff(meaning)}`),
          `.br\nExample: ${roff(example)}`,
        ].join('\n'),
      ),
  ]);
  return page('loopctl', 1, 'talk to the memory and the agent of this device', [
    '.SH SYNOPSIS',
    '.B loopctl\n.I command\n[\\-\\-home DIR] [\\-\\-config FILE] [\\-\\-json]',
    '.SH DESCRIPTION',
    'A client of memoryd and loopd; it opens no store itself. Every command has \\-\\-help with an example.',
    '.SH COMMANDS',
    ...listed,
    exitStatus,
    seeAlso('loopkeep(7), memoryd(8), loopd(8)'),
  ]);
}

const exitStatus = [
  '.SH EXIT STATUS',
  ...[
    ['0', 'done'],
    ['1', 'failed'],
    ['64', 'usage'],
    ['65', 'damaged or malformed data'],
    ['69', 'a daemon or server cannot be reached'],
    ['70', 'a bug'],
    ['73', 'cannot create a file'],
    ['74', 'input or output failed'],
    ['75', 'try again: locked, busy or starting'],
    ['77', 'not permitted'],
    ['78', 'configuration'],
  ].map(([status = '', meaning = '']) => item(status, meaning)),
].join('\n');

function overviewPage(): string {
  return page('loopkeep', 7, 'the memory of an agent on its own device', [
    '.SH DESCRIPTION',
    roff(
      'memoryd owns everything that must survive a crash or a context reset; loopd runs the turns of an agent against a local model. Each answers on Unix sockets below /run/loopkeep.',
    ),
    '.SH ERRORS',
    roff('Every error names a code. loopctl explain CODE prints what it means and what to do.'),
    ...Object.entries(errorKinds).map(([code, { meaning, exit }]) =>
      item(code, `${meaning} Exit status ${exit}.`),
    ),
    '.SH FILES',
    ...[
      ['/etc/loopkeep', 'settings'],
      ['/var/lib/loopkeep/memory', 'memory.md, user.md and the store'],
      ['/var/lib/loopkeep/sessions', 'session logs'],
      ['/run/loopkeep', 'sockets'],
      ['/usr/share/doc/loopkeep/runbook', 'the runbook'],
    ].map(([path = '', meaning = '']) => item(path, meaning)),
    seeAlso('loopctl(1), memoryd(8), loopd(8)'),
  ]);
}

function daemonPage(name: string, about: string, table: SettingsTable): string {
  const settings = Object.entries(table).flatMap(([section, rows]) => [
    `.SS [${section}]`,
    ...Object.entries(rows).map(([key, { about: meaning, fallback }]) =>
      item(`${key} = ${JSON.stringify(fallback)}`, meaning),
    ),
  ]);
  return page(name, 8, about, [
    '.SH SYNOPSIS',
    `.B ${name} serve\n[\\-\\-home DIR] [\\-\\-config FILE]\n.br\n.B ${name} check\n[\\-\\-home DIR] [\\-\\-config FILE]`,
    '.SH DESCRIPTION',
    roff(
      'serve runs until SIGTERM or SIGINT and reads its settings again on SIGHUP; a file that is wrong keeps the old ones. check reads the settings, says what is wrong with file and line, and starts nothing.',
    ),
    '.SH SETTINGS',
    roff(`TOML, in /etc/loopkeep/${name}.toml or ${name}.toml in the home. No file at all is fine.`),
    ...settings,
    exitStatus,
    seeAlso('loopkeep(7), loopctl(1)'),
  ]);
}

const seeAlso = (pages: string): string => `.SH SEE ALSO\n${roff(pages)}`;

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) throw new Error('usage: man.ts FOLDER');
  for (const [path, text] of Object.entries(manPages())) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

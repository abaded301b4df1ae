/**
 * The configuration files that an installation starts with, made from the tables of settings: each setting with
 * its meaning and default, and those that a device needs switched on. Usage: examples.ts   writes config/*.toml
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loopdSettings, memorydSettings, type Setting, type SettingsTable } from '../../shared/settings.ts';

/** What a device maps elsewhere: `section.key` → value. The parts lie beside each other, so that each can be set aside. */
const devicePaths = {
  'paths.home': '/var/lib/loopkeep',
  'paths.run': '/run/loopkeep',
  'paths.sessions': '/var/lib/loopkeep/sessions',
  'paths.memory': '/var/lib/loopkeep/memory/curated',
  'paths.store': '/var/lib/loopkeep/memory/store',
  'access.socket_mode': '0660',
} as const;
/** The two daemons are two users there, and memoryd reads the logs by their group. */
const deviceLogMode = { 'access.log_mode': '0640' } as const;

const commentCharsMax = 110;

/** Sections whose keys are free say so by an example. */
const freeExamples: Readonly<Record<string, string>> = {
  'policy.*': '# memory = "ask"\n# "files.*" = "deny"',
  'mcp.servers': '# [mcp.servers.files]\n# command = "/usr/bin/node"\n# args = ["/opt/files/server.js"]',
};

export const examples: Readonly<Record<string, string>> = {
  memoryd: exampleOf('memoryd', memorydSettings, devicePaths),
  loopd: exampleOf('loopd', loopdSettings, { ...devicePaths, ...deviceLogMode }),
};

function exampleOf(daemon: string, table: SettingsTable, device: Readonly<Record<string, string>>): string {
  const head = comment(
    `The settings of ${daemon}. A line that begins with # shows a default; take the # away and change it. What is ` +
      `not known is refused with its line: \`${daemon} check\` tells, without starting anything. Then ` +
      `\`systemctl restart ${daemon}\`; what is marked (reload) needs only \`systemctl reload ${daemon}\`.`,
  );
  const sections = Object.entries(table).map(([section, rows]) => {
    const settings = Object.entries(rows).map(([key, row]) => settingText(`${section}.${key}`, row, device));
    return `[${section}]\n${settings.join('\n\n')}`;
  });
  return `${[head, ...sections].join('\n\n')}\n`;
}

function settingText(name: string, row: Setting, device: Readonly<Record<string, string>>): string {
  const key = name.slice(name.indexOf('.') + 1);
  const about = comment(`${row.about}${rangeText(row)}${row.reloads === true ? ' (reload)' : ''}`);
  const example = freeExamples[name];
  if (example !== undefined) return `${about}\n${example}`;
  const value = device[name];
  return value === undefined
    ? `${about}\n# ${key} = ${JSON.stringify(row.fallback)}`
    : `${about}\n${key} = ${JSON.stringify(value)}`;
}

function rangeText({ choices, min, max }: Setting): string {
  if (choices !== undefined) return ` One of ${choices.map((choice) => JSON.stringify(choice)).join(', ')}.`;
  return min === undefined ? '' : ` From ${min} to ${max}.`;
}

/** Comment lines, broken between words. */
function comment(text: string): string {
  const lines = [''];
  for (const word of text.split(' ')) {
    const last = lines.length - 1;
    if (`# ${lines[last]} ${word}`.length > commentCharsMax) lines.push(word);
    else lines[last] = lines[last] === '' ? word : `${lines[last]} ${word}`;
  }
  return lines.map((line) => `# ${line}`).join('\n');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = fileURLToPath(new URL('../../config/', import.meta.url));
  for (const [daemon, text] of Object.entries(examples)) writeFileSync(join(folder, `${daemon}.toml`), text);
}

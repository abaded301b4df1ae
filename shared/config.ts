/** A configuration file: read, checked against its table, frozen. No file at all is fine. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, TomlError } from 'smol-toml';
import { AppError } from './errors.ts';
import { defaultHome } from './home.ts';
import type { Setting, SettingsOf, SettingsTable } from './settings.ts';

export const systemConfigFolder = '/etc/loopkeep';

export interface Config<T extends SettingsTable> {
  readonly settings: SettingsOf<T>;
  /** The file that was read, if any. */
  readonly file: string | undefined;
  /** `section.key` → `file:line` or `option`, for every value that is not a default. */
  readonly origins: ReadonlyMap<string, string>;
}

interface ReadOptions {
  /** The daemon's name; its file is `<name>.toml`. */
  readonly name: string;
  /** A file that must exist. */
  readonly file?: string | undefined;
  /** The home given on the command line; it wins over the file's. */
  readonly home?: string | undefined;
}

/** A section that holds nothing but free keys: its table has the one row `*`. */
const anyKey = '*';

/** @throws AppError config-invalid, naming file and line */
export function readConfig<T extends SettingsTable>(table: T, { name, file, home }: ReadOptions): Config<T> {
  // A home that somebody names is complete: on a device, its settings would point at the device's own store.
  const named = home || process.env['LOOPKEEP_HOME'];
  const folders = named ? [named] : [systemConfigFolder, defaultHome()];
  const found =
    file === undefined
      ? firstReadable(folders.map((folder) => join(folder, `${name}.toml`)))
      : { path: file, text: readOrFail(file) };
  const given = found === undefined ? {} : parseToml(found.text, found.path);
  const origins = new Map<string, string>();
  const settings: Record<string, Record<string, unknown>> = {};
  const fail = (message: string, line: number): never => {
    throw invalid(`${found?.path ?? name}:${line}: ${message}`, { file: found?.path, line });
  };
  for (const section of Object.keys(given)) {
    if (!Object.hasOwn(table, section))
      fail(`unknown section [${section}]`, lineOf(found?.text ?? '', section));
  }
  for (const [section, rows] of Object.entries(table)) {
    const values = given[section] ?? {};
    const check = (key: string, row: Setting, value: unknown) => {
      const line = lineOf(found?.text ?? '', section, key);
      const wrong = faultOf(row, value);
      if (wrong !== undefined) fail(`${section}.${key} ${wrong}`, line);
      origins.set(`${section}.${key}`, `${found?.path}:${line}`);
    };
    if (typeof values !== 'object' || values === null || Array.isArray(values)) {
      fail(`${section} must be a section: [${section}]`, lineOf(found?.text ?? '', section));
    }
    settings[section] = sectionOf(rows, values as Record<string, unknown>, {
      check,
      unknown: (key) => fail(`unknown setting ${section}.${key}`, lineOf(found?.text ?? '', section, key)),
    });
  }
  if (home !== undefined && home !== '') {
    (settings['paths'] ??= {})['home'] = home;
    origins.set('paths.home', 'option');
  }
  for (const section of Object.values(settings)) Object.freeze(section);
  return { settings: Object.freeze(settings) as SettingsOf<T>, file: found?.path, origins };
}

/** What is in force where no file says otherwise. */
export function defaultConfig<T extends SettingsTable>(table: T, home: string | undefined): Config<T> {
  const settings: Record<string, Record<string, unknown>> = {};
  for (const [section, rows] of Object.entries(table))
    settings[section] = Object.fromEntries(
      Object.entries(rows).map(([key, { fallback }]) => [key, key === anyKey ? {} : fallback]),
    );
  if (home !== undefined) (settings['paths'] ??= {})['home'] = home;
  return { settings: settings as SettingsOf<T>, file: undefined, origins: new Map() };
}

interface SectionChecks {
  readonly check: (key: string, row: Setting, value: unknown) => void;
  readonly unknown: (key: string) => never;
}

function sectionOf(
  rows: Readonly<Record<string, Setting>>,
  values: Record<string, unknown>,
  { check, unknown }: SectionChecks,
): Record<string, unknown> {
  const free = rows[anyKey];
  if (free !== undefined) {
    for (const [key, value] of Object.entries(values)) check(key, { ...free, type: 'text' }, value);
    return { [anyKey]: Object.freeze({ ...values }) };
  }
  const section: Record<string, unknown> = {};
  for (const key of Object.keys(values)) if (!Object.hasOwn(rows, key)) unknown(key);
  for (const [key, row] of Object.entries(rows)) {
    const value = Object.hasOwn(values, key) ? values[key] : undefined;
    if (value !== undefined) check(key, row, value);
    section[key] = value ?? row.fallback;
  }
  return section;
}

function faultOf(
  { type, choices, min = -Infinity, max = Infinity }: Setting,
  value: unknown,
): string | undefined {
  switch (type) {
    case 'text':
      return typeof value === 'string' ? undefined : 'must be a string';
    case 'flag':
      return typeof value === 'boolean' ? undefined : 'must be true or false';
    case 'integer':
      if (typeof value !== 'number' || !Number.isInteger(value)) return 'must be a whole number';
      return value < min || value > max ? `must be from ${min} to ${max}` : undefined;
    case 'choice':
      return choices?.includes(value as string)
        ? undefined
        : `must be one of ${choices?.map((c) => `"${c}"`).join(', ')}`;
    case 'table':
      return typeof value === 'object' && value !== null && !Array.isArray(value)
        ? undefined
        : 'must be a table';
    case 'list':
      return Array.isArray(value) ? undefined : 'must be a list';
  }
}

function parseToml(text: string, path: string): Record<string, unknown> {
  try {
    return parse(text);
  } catch (thrown) {
    if (!(thrown instanceof TomlError)) throw thrown;
    const [summary = 'not TOML'] = thrown.message.split('\n');
    throw invalid(`${path}:${thrown.line}: ${summary}`, { file: path, line: thrown.line }, thrown);
  }
}

function firstReadable(paths: string[]): { path: string; text: string } | undefined {
  for (const path of paths) {
    try {
      return { path, text: readFileSync(path, 'utf8') };
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') throw unreadable(path, thrown);
    }
  }
  return undefined;
}

function readOrFail(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (thrown) {
    throw unreadable(path, thrown);
  }
}

function unreadable(path: string, cause: unknown): AppError {
  return invalid(`${path}: cannot be read (${(cause as NodeJS.ErrnoException).code})`, { file: path }, cause);
}

function invalid(message: string, details: Record<string, unknown>, cause?: unknown): AppError {
  return new AppError('config-invalid', message, { details, cause });
}

/** The line on which a section or one of its keys stands; 1 where it cannot be told. */
function lineOf(text: string, section: string, key?: string): number {
  const lines = text.split('\n');
  const header = (line: string) => /^\s*\[+\s*"?([^\]"]+)"?\s*\]+/.exec(line)?.[1]?.trim();
  let current = '';
  for (const [at, line] of lines.entries()) {
    const opened = header(line);
    if (opened !== undefined) {
      current = opened;
      if (key === undefined && (current === section || current.startsWith(`${section}.`))) return at + 1;
      if (key !== undefined && current === `${section}.${key}`) return at + 1;
    }
    const name = /^\s*(?:"([^"]+)"|'([^']+)'|([^\s=#"']+))\s*=/.exec(line);
    const found = name?.[1] ?? name?.[2] ?? name?.[3];
    if (key === undefined ? current === '' && found === section : current === section && found === key)
      return at + 1;
    if (key !== undefined && current === '' && found === `${section}.${key}`) return at + 1;
  }
  return 1;
}

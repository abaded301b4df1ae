/**
 * Holds the table of errors, the source, the runbook and the journal's catalogue against each other.
 * Usage: check.ts [--write]   prints what disagrees and ends with 1; --write first makes anew what follows from the entries.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { errorKinds, type ErrorCode } from '../../shared/errors.ts';
import { catalogOf } from './catalog.ts';
import { type Entry, parseEntry, sectionNames } from './entry.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const catalogFile = 'config/journal/loopkeep.catalog';
const guideFile = 'README.md';
const indexPattern = /(<!-- index -->).*(<!-- \/index -->)/s;
const sectionsWithCommands = ['Diagnosis', 'Verification'];

/** Everything that disagrees in the project below `folder`, one sentence each; empty where all is well. */
export function runbookFaults(folder: string, commands: ReadonlySet<string>): string[] {
  const faults: string[] = [];
  const entries = readEntries(join(folder, 'runbook'), faults);
  const names = new Set(entries.map(({ name }) => name));
  for (const code of Object.keys(errorKinds)) {
    if (!names.has(code)) faults.push(`runbook/${code}.md is missing`);
  }
  for (const entry of entries) {
    faults.push(
      ...statementFaults(entry),
      ...sectionFaults(entry),
      ...referenceFaults(entry, names),
      ...commandFaults(entry, commands),
      ...causeFaults(entry, folder),
    );
  }
  faults.push(...guideFaults(folder, names), ...sourceFaults(folder), ...catalogFaults(folder, entries));
  return faults;
}

export function readEntries(folder: string, faults: string[] = []): Entry[] {
  const entries: Entry[] = [];
  for (const file of readdirSync(folder).toSorted()) {
    if (!file.endsWith('.md')) continue;
    const text = readFileSync(join(folder, file), 'utf8');
    // What states no code is a page of its own, as the guide is.
    if (!text.startsWith('---\ncode:')) continue;
    try {
      entries.push(parseEntry(basename(file, '.md'), text));
    } catch (error) {
      faults.push(`runbook/${(error as Error).message}`);
    }
  }
  return entries;
}

const isCode = (name: string): name is ErrorCode => Object.hasOwn(errorKinds, name);

/** What the entry states of its code is what the table states. */
function statementFaults({ name, title, stated, sections }: Entry): string[] {
  if (!isCode(name)) return [`runbook/${name}.md explains a code that the table does not have`];
  const { meaning, exit, retryable } = errorKinds[name];
  const wanted: [string, string | undefined, string][] = [
    ['title', title, name],
    ['code', stated['code'], name],
    ['exit', stated['exit'], String(exit)],
    ['retryable', stated['retryable'], retryable ? 'yes' : 'no'],
    ['first line of Meaning', sections.get('Meaning')?.split('\n', 1)[0], meaning],
  ];
  const faults = wanted
    .filter(([, is, should]) => is !== should)
    .map(([what, is, should]) => `runbook/${name}.md: ${what} is "${is ?? ''}", the table says "${should}"`);
  const daemons = (stated['daemon'] ?? '').split(/, */);
  if (!daemons.every((daemon) => daemon === 'memoryd' || daemon === 'loopd')) {
    faults.push(`runbook/${name}.md: daemon is memoryd, loopd or both`);
  }
  return faults;
}

function sectionFaults({ name, sections, blocks }: Entry): string[] {
  const faults: string[] = [];
  if ([...sections.keys()].join() !== sectionNames.join()) {
    faults.push(`runbook/${name}.md: its sections are not ${sectionNames.join(', ')}`);
  }
  for (const [section, text] of sections) {
    if (text === '') faults.push(`runbook/${name}.md: ${section} is empty`);
    if (/\b(?:TODO|TBD|FIXME|XXX)\b|<[A-Z_]+>/.test(text)) {
      faults.push(`runbook/${name}.md: ${section} holds a placeholder`);
    }
  }
  for (const section of sectionsWithCommands) {
    if (!blocks.some((block) => block.section === section)) {
      faults.push(`runbook/${name}.md: ${section} has no command to run`);
    }
  }
  return faults;
}

function referenceFaults({ name, references }: Entry, names: ReadonlySet<string>): string[] {
  return references
    .filter((reference) => !names.has(reference))
    .map((reference) => `runbook/${name}.md points at ${reference}.md, which is missing`);
}

/** Every `loopctl WORD` is a command; whether it does what the entry says, the runbook's test finds out. */
function commandFaults({ name, sections }: Entry, commands: ReadonlySet<string>): string[] {
  return [...sections].flatMap(([section, text]) =>
    [...text.matchAll(/(?:^|[`'"(|;$] ?)loopctl (?:--\S+ )*(?<word>[a-z][a-z-]*)/gm)]
      .filter(({ groups }) => !commands.has(groups?.['word'] ?? ''))
      .map(({ groups }) => `runbook/${name}.md: ${section}: loopctl has no command ${groups?.['word']}`),
  );
}

/** Either a script causes the fault, or the entry says why none can. */
function causeFaults({ name, stated }: Entry, folder: string): string[] {
  const isCaused = existsSync(join(folder, 'scripts/runbook/faults', `${name}.sh`));
  if (isCaused === 'uncaused' in stated) {
    return [
      `runbook/${name}.md: ${isCaused ? 'its fault has a script and a reason for having none' : `neither scripts/runbook/faults/${name}.sh nor a reason (uncaused) is there`}`,
    ];
  }
  return [];
}

/** The guide's index has a line for each entry and for nothing else. */
function guideFaults(folder: string, names: ReadonlySet<string>): string[] {
  const file = join(folder, 'runbook', guideFile);
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const listed = new Map(
    [...text.matchAll(/^\| \[(?<name>[a-z-]+)\]\(\k<name>\.md\) \| (?<meaning>.*?) +\|/gm)].map(
      ({ groups }) => [groups?.['name'] ?? '', groups?.['meaning'] ?? ''],
    ),
  );
  const missing = [...names].filter((name) => !listed.has(name));
  const wrong = [...listed].filter(
    ([name, meaning]) => !isCode(name) || errorKinds[name].meaning !== meaning,
  );
  return [
    ...missing.map((name) => `runbook/${guideFile} does not list ${name}`),
    ...wrong.map(([name]) => `runbook/${guideFile} lists ${name} with another meaning than the table`),
  ];
}

/** What the source reports is in the table, and what is in the table is reported by something. */
function sourceFaults(folder: string): string[] {
  const faults: string[] = [];
  const named = new Set<string>();
  for (const file of sourcesBelow(folder)) {
    const text = readFileSync(join(folder, file), 'utf8');
    for (const [, code = ''] of text.matchAll(/'([a-z][a-z-]*)'/g)) named.add(code);
    for (const [, code = ''] of text.matchAll(/\bnew AppError\(\s*'([^']*)'/g)) {
      if (!isCode(code)) faults.push(`${file} reports ${code}, which the table does not have`);
    }
  }
  for (const code of Object.keys(errorKinds)) {
    if (!named.has(code)) faults.push(`the table has ${code}, which nothing reports`);
  }
  return faults;
}

/** Product code: no tests, not the table itself, and not this check. */
function sourcesBelow(folder: string): string[] {
  return ['daemons', 'shared', 'scripts/loopctl'].flatMap((top) => {
    if (!existsSync(join(folder, top))) return [];
    return readdirSync(join(folder, top), { recursive: true, encoding: 'utf8' })
      .map((file) => join(top, file))
      .filter((file) => file.endsWith('.ts') && !/\.(?:test|gate)\.ts$|\/testing\//.test(file))
      .filter((file) => file !== 'shared/errors.ts');
  });
}

function catalogFaults(folder: string, entries: readonly Entry[]): string[] {
  const file = join(folder, catalogFile);
  const is = existsSync(file) ? readFileSync(file, 'utf8') : '';
  return is === catalogOf(entries) ? [] : [`${catalogFile} is not what the runbook says: make catalog`];
}

/** First words of all commands: `memory` of `memory add`. */
async function commandWords(): Promise<Set<string>> {
  const { commands } = await import('../loopctl/commands.ts');
  return new Set(commands.map(({ path }) => path.split(' ', 1)[0] ?? path));
}

/** Makes what follows from the entries anew: the catalogue, and the index of the guide. */
function write(): void {
  const entries = readEntries(join(root, 'runbook'));
  mkdirSync(join(root, dirname(catalogFile)), { recursive: true });
  writeFileSync(join(root, catalogFile), catalogOf(entries));
  const guide = join(root, 'runbook', guideFile);
  const rows = entries.map(({ name, stated }) =>
    isCode(name) ? `| [${name}](${name}.md) | ${errorKinds[name].meaning} | ${stated['daemon']} |\n` : '',
  );
  const index = `$1\n\n| code | meaning | daemon |\n| --- | --- | --- |\n${rows.join('')}\n$2`;
  writeFileSync(guide, readFileSync(guide, 'utf8').replace(indexPattern, index));
}

async function main(): Promise<void> {
  if (process.argv.includes('--write')) write();
  const faults = runbookFaults(root, await commandWords());
  for (const fault of faults) process.stdout.write(`${fault}\n`);
  if (faults.length > 0) process.exitCode = 1;
  else process.stdout.write(`runbook: ${Object.keys(errorKinds).length} entries agree\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();

/**
 * Goal: the check finds every way in which table, source, runbook and catalogue can disagree.
 * Method: a small project in which all is well, made for each test, with one thing planted in it.
 */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { errorKinds, type ErrorCode } from '../../shared/errors.ts';
import { commands as table } from '../loopctl/commands.ts';
import { catalogOf } from './catalog.ts';
import { readEntries, runbookFaults } from './check.ts';
import { parseEntry } from './entry.ts';

const commands = new Set(['status', 'explain']);
const codes = Object.keys(errorKinds) as ErrorCode[];
const fence = '```';

function entryText(code: ErrorCode): string {
  const { exit, retryable, meaning } = errorKinds[code];
  return `---
code: ${code}
daemon: memoryd, loopd
exit: ${exit}
retryable: ${retryable ? 'yes' : 'no'}
---

# ${code}

## Meaning

${meaning}

## Impact

None; see [store-locked](store-locked.md).

## Diagnosis

${fence}sh run
loopctl status
${fence}
${fence}expect rc=69
memoryd +down
${fence}

## Mitigation

Wait.

## Verification

${fence}sh run
loopctl --json status
${fence}
`;
}

/** A project in which everything agrees. */
function project(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'loopkeep-runbook-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const path of ['runbook', 'shared', 'daemons', 'scripts/runbook/faults', 'config/journal']) {
    mkdirSync(join(folder, path), { recursive: true });
  }
  for (const code of codes) {
    writeFileSync(join(folder, 'runbook', `${code}.md`), entryText(code));
    writeFileSync(join(folder, 'scripts/runbook/faults', `${code}.sh`), '');
  }
  const index = codes.map((code) => `| [${code}](${code}.md) | ${errorKinds[code].meaning} | |`);
  writeFileSync(join(folder, 'runbook/README.md'), index.join('\n'));
  const uses = codes.map((code) => `new AppError('${code}', '');`);
  writeFileSync(join(folder, 'daemons/uses.ts'), uses.join('\n'));
  writeFileSync(
    join(folder, 'config/journal/loopkeep.catalog'),
    catalogOf(readEntries(join(folder, 'runbook'))),
  );
  return folder;
}

const remove = (folder: string, file: string) => rmSync(join(folder, file));

function edit(folder: string, file: string, [from, to]: [string, string]): void {
  const path = join(folder, file);
  const before = readFileSync(path, 'utf8');
  assert.ok(before.includes(from), `${file} does not hold what is to be replaced`);
  writeFileSync(path, before.replace(from, to));
}

test('table, source, runbook and catalogue of this project agree', () => {
  const words = new Set(table.map(({ path }) => path.split(' ', 1)[0] ?? path));

  assert.deepEqual(runbookFaults(fileURLToPath(new URL('../../', import.meta.url)), words), []);
});

test('a project in which all is well has no fault', (t) => {
  assert.deepEqual(runbookFaults(project(t), commands), []);
});

const planted: [name: string, plant: (folder: string) => void, found: RegExp][] = [
  ['a missing entry', (at) => remove(at, 'runbook/store-full.md'), /runbook\/store-full\.md is missing/],
  [
    'an entry for no code',
    (at) => writeFileSync(join(at, 'runbook/no-such-code.md'), entryText('store-full')),
    /no-such-code\.md explains a code that the table does not have/,
  ],
  [
    'a code in the source that the table does not have',
    (at) => writeFileSync(join(at, 'shared/planted.ts'), "throw new AppError(\n  'no-such-code', '');"),
    /planted\.ts reports no-such-code/,
  ],
  [
    'a code that nothing reports',
    (at) => edit(at, 'daemons/uses.ts', ["'stopping'", "'stop'"]),
    /the table has stopping, which nothing reports/,
  ],
  [
    'a command that does not exist',
    (at) => edit(at, 'runbook/stopping.md', ['loopctl status', 'loopctl mend']),
    /stopping\.md: Diagnosis: loopctl has no command mend/,
  ],
  [
    'another exit status',
    (at) => edit(at, 'runbook/stopping.md', ['exit: 75', 'exit: 1']),
    /stopping\.md: exit is "1", the table says "75"/,
  ],
  [
    'another meaning',
    (at) => edit(at, 'runbook/stopping.md', [errorKinds.stopping.meaning, 'It stops.']),
    /stopping\.md: first line of Meaning is "It stops\."/,
  ],
  [
    'a section too few',
    (at) => edit(at, 'runbook/stopping.md', ['## Impact', 'Impact']),
    /stopping\.md: its sections are not Meaning, Impact/,
  ],
  [
    'a diagnosis without a command',
    (at) => edit(at, 'runbook/stopping.md', ['sh run', 'text']),
    /stopping\.md/,
  ],
  [
    'a placeholder',
    (at) => edit(at, 'runbook/stopping.md', ['Wait.', 'Wait. TODO']),
    /stopping\.md: Mitigation holds a placeholder/,
  ],
  [
    'a reference to no entry',
    (at) => edit(at, 'runbook/stopping.md', ['(store-locked.md)', '(store-lock.md)']),
    /stopping\.md points at store-lock\.md, which is missing/,
  ],
  [
    'a fault that nothing causes',
    (at) => remove(at, 'scripts/runbook/faults/stopping.sh'),
    /neither scripts\/runbook\/faults\/stopping\.sh nor a reason/,
  ],
  [
    'an entry that the guide does not list',
    (at) => edit(at, 'runbook/README.md', ['| [stopping](stopping.md)', '| stopping']),
    /README\.md does not list stopping/,
  ],
  [
    'a catalogue that is older than its entries',
    (at) => edit(at, 'runbook/stopping.md', ['None;', 'Much;']),
    /loopkeep\.catalog is not what the runbook says/,
  ],
];

for (const [name, plant, found] of planted) {
  test(`the check finds ${name}`, (t) => {
    const folder = project(t);

    plant(folder);

    assert.match(runbookFaults(folder, commands).join('\n'), found);
  });
}

test('a block of commands carries the status and the lines that it should have', () => {
  const [first, second] = parseEntry('stopping', entryText('stopping')).blocks;

  assert.equal(first?.section, 'Diagnosis');
  assert.equal(first.commands, 'loopctl status');
  assert.deepEqual(first.expect, { status: 69, lines: ['memoryd +down'] });
  assert.deepEqual(second?.expect, { status: 0, lines: [] });
});

test('a fence that never closes and a fence of another kind are named with their line', () => {
  assert.throws(() => parseEntry('x', `# x\n${fence}sh run\nls\n`), /x\.md:2: a fence that never closes/);
  assert.throws(() => parseEntry('x', `${fence}bash\nls\n${fence}\n`), /x\.md:1: a fence is "sh run"/);
  assert.throws(() => parseEntry('x', `${fence}expect\nls\n${fence}\n`), /belongs to no command/);
});

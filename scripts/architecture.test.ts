/** Goal: the arrows between folders, the one importer of each engine, and the shape of files stay as ARCHITECTURE.md says. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const linesMax = 300;

interface Source {
  readonly path: string;
  readonly text: string;
}

function sourcesIn(top: string): Source[] {
  return readdirSync(join(root, top), { recursive: true, withFileTypes: true })
    .filter(
      (entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.parentPath.includes('node_modules'),
    )
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => ({ path: relative(root, path), text: readFileSync(path, 'utf8') }));
}

const sources = ['daemons', 'shared', 'scripts'].flatMap(sourcesIn);

const mayImport: Readonly<Record<string, readonly string[]>> = {
  'daemons/memoryd': ['daemons/memoryd', 'shared'],
  'daemons/loopd': ['daemons/loopd', 'shared'],
  shared: ['shared'],
  // The asset is made of stems as recall makes them.
  'scripts/assets': ['scripts/assets', 'daemons/memoryd/recall/analysis', 'shared'],
  scripts: ['scripts', 'shared'],
};

/** Packages that one place knows, so that it can be exchanged there. */
const importersOf: Readonly<Record<string, RegExp>> = {
  level: /^daemons\/memoryd\/store\/level-engine\.ts$/,
  'classic-level': /^daemons\/memoryd\/store\/(salvage|repair)/,
  'memory-level': /^daemons\/memoryd\/store\//,
  pino: /^shared\/log\.ts$/,
  ajv: /^(shared\/schema-(compiler|check)\.ts|scripts\/build\.ts|daemons\/loopd\/tools\/json-schema\.ts)$/,
  'smol-toml': /^shared\/config\.ts$/,
  koffi: /^(shared\/datagram|daemons\/memoryd\/curated\/exchange)\.ts$/,
  '@secretlint/secretlint-rule-preset-recommend': /^shared\/secrets\.ts$/,
  commander: /^scripts\/loopctl\//,
};

const isTest = (path: string) => /\.(test|gate)\.ts$|(^|\/)(testing|bench)\/|fixture/.test(path);
const importPattern =
  /(?:^|\n)\s*(?:import|export)\s[^;]*?from\s+'([^']+)'|import\(\s*'([^']+)'\s*\)|(?:^|\n)import\s+'([^']+)'/g;

function importsOf({ text }: Source): string[] {
  return [...text.matchAll(importPattern)].map(([, from, lazy, bare]) => from ?? lazy ?? bare ?? '');
}

test('there are sources to look at', () => {
  assert.ok(sources.length > 100, `${sources.length} sources`);
});

test('imports point down: daemons and scripts to shared, and nothing sideways', () => {
  for (const source of sources.filter(({ path }) => !isTest(path))) {
    const folder = Object.keys(mayImport).find((prefix) => source.path.startsWith(`${prefix}/`)) ?? '';
    for (const from of importsOf(source).filter((name) => name.startsWith('.'))) {
      const target = relative(root, join(root, dirname(source.path), from));
      assert.ok(
        (mayImport[folder] ?? []).some((prefix) => target.startsWith(`${prefix}/`)),
        `${source.path} may not import ${target}`,
      );
    }
  }
});

test('a package that one place knows is imported there alone', () => {
  for (const source of sources) {
    for (const from of importsOf(source)) {
      const allowed = importersOf[from];
      assert.ok(
        allowed === undefined || allowed.test(source.path) || isTest(source.path),
        `${source.path} may not import ${from}`,
      );
    }
  }
});

test('a file begins with what it is for, is named after what it holds, and is one idea long', () => {
  for (const { path, text } of sources) {
    assert.ok(
      isTest(path) || text.startsWith('/**') || text.startsWith('#!'),
      `${path}: the first line says what the file is for`,
    );
    assert.ok(
      !/(^|\/)(index|utils?|helpers?|common|misc|types)\.ts$/.test(path),
      `${path}: name it after what it holds`,
    );
    assert.ok(
      isTest(path) || text.split('\n').length <= linesMax + 1,
      `${path} is over ${linesMax} lines: split it where the idea changes`,
    );
  }
});

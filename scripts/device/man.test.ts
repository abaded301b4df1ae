/** Goal: the man pages say all that the tables say, in roff without fault. Method: the pages, and groff where it is. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { errorKinds } from '../../shared/errors.ts';
import { loopdSettings, memorydSettings } from '../../shared/settings.ts';
import { commands } from '../loopctl/commands.ts';
import { manPages } from './man.ts';

const pages = manPages();
const plain = (path: string) =>
  (pages[path] ?? '')
    .replaceAll('\\-', '-')
    .replaceAll('\\e', '\\')
    .replaceAll(/\\\[u([0-9A-F]+)\]/g, (_, hex: string) => String.fromCodePoint(Number.parseInt(hex, 16)));
const hasGroff = spawnSync('groff', ['--version']).status === 0;

test('every command is in the page of loopctl, with its example', () => {
  for (const { path, example } of commands) {
    assert.ok(plain('man1/loopctl.1').includes(`loopctl ${path}`), path);
    assert.ok(plain('man1/loopctl.1').includes(example), example);
  }
});

test('every setting is in the page of its daemon, and every error in the overview', () => {
  for (const [daemon, table] of Object.entries({ memoryd: memorydSettings, loopd: loopdSettings })) {
    for (const key of Object.values(table).flatMap((rows) => Object.keys(rows))) {
      assert.ok(plain(`man8/${daemon}.8`).includes(`\\fB${key} = `), `${daemon}: ${key}`);
    }
  }
  for (const code of Object.keys(errorKinds))
    assert.ok(plain('man7/loopkeep.7').includes(`\\fB${code}\\fR\n`));
});

test('no line of text is taken for a request of roff', () => {
  for (const [path, text] of Object.entries(pages)) {
    for (const line of text.split('\n').filter((each) => /^[.']/.test(each))) {
      assert.match(line, /^\.(?:TH|SH|SS|TP|B|I|br)\b/, `${path}: ${line}`);
    }
  }
});

test(
  'groff formats every page without a warning',
  { skip: hasGroff ? false : 'groff is not installed' },
  () => {
    for (const [path, text] of Object.entries(pages)) {
      const { stderr, status } = spawnSync('groff', ['-man', '-Tutf8', '-ww', '-z'], {
        input: text,
        encoding: 'utf8',
      });
      assert.equal(stderr, '', path);
      assert.equal(status, 0);
    }
  },
);

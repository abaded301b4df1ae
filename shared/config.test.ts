/** Goal: a wrong configuration is refused with its file and line, and a right one is what the table says. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { readConfig } from './config.ts';
import { loopdSettings, memorydSettings } from './settings.ts';

function write(t: TestContext, name: string, text: string): string {
  const home = mkdtempSync(join(tmpdir(), 'lk-'));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  writeFileSync(join(home, `${name}.toml`), text);
  return home;
}

test('no file at all is the defaults', (t) => {
  const home = write(t, 'other', '');
  const { settings, file } = readConfig(memorydSettings, { name: 'memoryd', home });
  assert.equal(file, undefined);
  assert.equal(settings.store.durable, 'all');
  assert.equal(settings.memory.memory_chars_max, 2200);
  assert.equal(settings.paths.home, home);
});

test('what a file says wins over the default, and its place is known', (t) => {
  const home = write(t, 'memoryd', '# mine\n[store]\ndurable = "checkpoint"\n');
  const { settings, origins, file } = readConfig(memorydSettings, { name: 'memoryd', home });
  assert.equal(settings.store.durable, 'checkpoint');
  assert.equal(origins.get('store.durable'), `${file}:3`);
});

const wrong = [
  ['[store]\ndurable = "sometimes"\n', 2, /durable must be one of/],
  ['[store]\n\nnope = 1\n', 3, /unknown setting store\.nope/],
  ['\n\n[nope]\n', 3, /unknown section \[nope\]/],
  ['[memory]\nmemory_chars_max = "many"\n', 2, /whole number/],
  ['[memory]\nmemory_chars_max = 5\n', 2, /from 100 to/],
  ['[memory]\nreview = 1\n', 2, /true or false/],
  ['[store\n', 1, /./],
  ['store = 3\n', 1, /section/],
] as const;

for (const [text, line, message] of wrong) {
  test(`${JSON.stringify(text)} is refused with file and line`, (t) => {
    const home = write(t, 'memoryd', text);
    assert.throws(
      () => readConfig(memorydSettings, { name: 'memoryd', home }),
      (error: Error & { code?: string }) =>
        error.code === 'config-invalid' &&
        error.message.includes(`memoryd.toml:${line}`) &&
        message.test(error.message),
    );
  });
}

test('a file that is named must be there', () => {
  assert.throws(() => readConfig(memorydSettings, { name: 'memoryd', file: '/nowhere/memoryd.toml' }), {
    code: 'config-invalid',
  });
});

test('policies and servers are tables of free keys', (t) => {
  const home = write(
    t,
    'loopd',
    '[policy]\n"files/*" = "ask"\n[mcp.servers.files]\ncommand = "x"\nargs = ["a"]\n',
  );
  const { settings } = readConfig(loopdSettings, { name: 'loopd', home });
  assert.deepEqual({ ...settings.policy['*'] }, { 'files/*': 'ask' });
  assert.deepEqual(JSON.parse(JSON.stringify(settings.mcp.servers)), {
    files: { command: 'x', args: ['a'] },
  });
});

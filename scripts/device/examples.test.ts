/** Goal: the shipped configuration files are true. Method: the files themselves, read as the daemons read them. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readConfig } from '../../shared/config.ts';
import { homeOf } from '../../shared/home.ts';
import { loopdSettings, memorydSettings, type SettingsTable } from '../../shared/settings.ts';
import { examples } from './examples.ts';

const config = fileURLToPath(new URL('../../config/', import.meta.url));
const units = (name: string) => readFileSync(join(config, 'systemd', name), 'utf8');
const tables: Readonly<Record<string, SettingsTable>> = { memoryd: memorydSettings, loopd: loopdSettings };

for (const [name, table] of Object.entries(tables)) {
  test(`config/${name}.toml is what the table of settings says; if not: make examples`, () => {
    assert.equal(readFileSync(join(config, `${name}.toml`), 'utf8'), examples[name]);
  });

  test(`${name} reads its shipped file and every default in it`, (t) => {
    const dir = mkdtempSync(join(tmpdir(), 'loopkeep-examples-'));
    t.after(() => rmSync(dir, { recursive: true, force: true }));
    const file = join(dir, `${name}.toml`);
    writeFileSync(file, (examples[name] ?? '').replaceAll(/^# (\S+ = (?!\[|"\/usr|"deny"|"ask"))/gm, '$1'));

    const { settings } = readConfig(table, { name, file });
    const { settings: defaults } = readConfig(table, { name, file: '/dev/null' });

    for (const [section, rows] of Object.entries(table)) {
      for (const key of Object.keys(rows).filter(
        (row) => section !== 'paths' && section !== 'access' && row !== '*',
      )) {
        assert.deepEqual(settings[section]?.[key], defaults[section]?.[key], `${section}.${key}`);
      }
    }
  });
}

for (const [name, table] of Object.entries(tables)) {
  test(`${name} reads every setting that it offers`, () => {
    const root = fileURLToPath(new URL('../../', import.meta.url));
    const sources = [`daemons/${name}`, 'shared'].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((path) => path.endsWith('.ts') && !/(test|gate|settings)\.ts$/.test(path))
        .map((path) => readFileSync(join(root, folder, path), 'utf8')),
    );
    for (const [section, rows] of Object.entries(table)) {
      for (const key of Object.keys(rows).filter((row) => row !== '*')) {
        const word = new RegExp(`\\b${key}\\b`);
        assert.ok(
          sources.some((source) => word.test(source)),
          `${section}.${key}`,
        );
      }
    }
  });
}

test('the sockets that the daemons know are the ones that the units hold', () => {
  const { settings } = readConfig(memorydSettings, { name: 'memoryd', file: join(config, 'memoryd.toml') });
  const home = homeOf(settings.paths);

  const held = { ...home.memorySockets, channel: home.channelSocket };
  for (const [role, path] of Object.entries(held)) {
    assert.ok(units(`loopkeep-${role}.socket`).includes(`ListenStream=${path}\n`), `${role}: ${path}`);
  }
});

test('the folders that the daemons write are the ones that the units leave open', () => {
  const { settings } = readConfig(loopdSettings, { name: 'loopd', file: join(config, 'loopd.toml') });
  const { sessions, memory, store } = homeOf(settings.paths);

  assert.ok(units('loopd.service').includes(`ReadWritePaths=${sessions}\n`));
  assert.ok(units('memoryd.service').includes('StateDirectory=loopkeep/memory\n'));
  for (const folder of [memory, store]) assert.match(folder, /^\/var\/lib\/loopkeep\/memory\/\w+$/);
});

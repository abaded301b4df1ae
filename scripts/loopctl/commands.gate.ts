/** Goal: the commands that operators and scripts lean on say what they promise, up and down, in the forms that are parsed. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { errorKinds } from '../../shared/errors.ts';
import { startDaemon, temporaryHome } from '../../shared/testing/start-daemon.ts';
import { progressLine } from './progress.ts';
import { loopctl, runLoopctl } from './testing/run-loopctl.ts';

test('what asks the daemons says which is down, and waits until both are up', async (t) => {
  const { home, remove } = temporaryHome();
  t.after(remove);
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, 'memoryd.toml'), '[memory]\nuser_chars_max = 900\n');
  const down = await runLoopctl(home, ['status']);
  assert.equal(down.status, 69);
  assert.match(down.stdout, /^memoryd {2}down: /m);
  assert.match(down.stderr, /^runbook: memory-unavailable\n {2}loopctl explain memory-unavailable$/m);
  assert.equal((await runLoopctl(home, ['health'])).status, 69);
  const away = JSON.parse(await loopctl(home, ['version', '--json'])) as Record<string, unknown>;
  assert.deepEqual([away['memoryd'], away['loopd']], [null, null]);

  const waiting = runLoopctl(home, ['health', '--wait', '60']);
  const memoryd = await startDaemon('memoryd', home);
  t.after(() => memoryd.stop());
  const loopd = await startDaemon('loopd', home);
  t.after(() => loopd.stop());
  assert.deepEqual(await waiting, { status: 0, stdout: 'ready\n', stderr: '' });
  const versions = JSON.parse(await loopctl(home, ['version', '--json'])) as Record<string, unknown>;
  assert.equal(versions['memoryd'], versions['loopctl']);
  assert.equal(versions['loopd'], versions['loopctl']);
  const status = await loopctl(home, ['status']);
  assert.match(status, /^memoryd {2}ready /m);
  assert.match(status, /^loopd {4}ready /m);

  const metrics = await loopctl(home, ['metrics']);
  assert.ok(metrics.endsWith('# EOF\n'));
  const sample = /^[a-z_]+(?:\{[a-z_]+="[^"]*"\})? -?\d+(?:\.\d+)?$/;
  const lines = metrics.trimEnd().split('\n');
  for (const line of lines.filter((text) => !text.startsWith('#'))) assert.match(line, sample);
  assert.ok(lines.includes('loopkeep_up{daemon="memoryd"} 1'));
  assert.ok(lines.includes('loopkeep_memory_limit_chars{file="user"} 900'));

  const settings = await loopctl(home, ['config', 'show']);
  assert.match(settings, /^memoryd +memory\.user_chars_max +900 +.*memoryd\.toml:2$/m);
  assert.match(settings, /^loopd +model\.steps_max +12 +default$/m);
});

test('every code is explained offline, and an unknown one is refused', async (t) => {
  const { home, remove } = temporaryHome();
  t.after(remove);
  const list = await loopctl(home, ['explain']);
  for (const code of Object.keys(errorKinds)) assert.ok(list.includes(`\n${code} `), code);
  assert.match(await loopctl(home, ['explain', 'store-damaged']), /^## Meaning$/m);
  assert.equal((await runLoopctl(home, ['explain', 'no-such-code'])).status, 64);
});

test('completion offers commands, options and codes in a real bash', async (t) => {
  const { home, remove } = temporaryHome();
  t.after(remove);
  mkdirSync(home, { recursive: true });
  const script = join(home, 'completion');
  writeFileSync(script, await loopctl(home, ['completion', 'bash']));
  const offered = (...words: string[]) => {
    const quoted = words.map((word) => `'${word}'`).join(' ');
    const program = `source '${script}'; COMP_WORDS=(loopctl ${quoted}); COMP_CWORD=${words.length}; _loopctl; echo "\${COMPREPLY[@]}"`;
    return execFileSync('bash', ['--norc', '-c', program], { encoding: 'utf8' }).trim().split(' ');
  };
  assert.deepEqual(offered('doc'), ['doctor']);
  assert.ok(offered('backup', '').includes('verify'));
  assert.ok(offered('restore', '--s').includes('--salvage'));
  assert.deepEqual(offered('explain', 'store-dam'), ['store-damaged']);
});

test('progress is drawn in cells, and never past its end', () => {
  assert.equal(progressLine(5, { what: 'export', unit: 'lines' }), 'export  5 lines');
  assert.match(progressLine(50, { what: 'import', total: 100, unit: 'bytes' }), /█{12}░{12} {2}50 %/);
  assert.match(progressLine(300, { what: 'import', total: 100, unit: 'bytes' }), /█{24} 100 %/);
});

/**
 * Goal: a store that is held by another process, or damaged, is treated as promised.
 * Method: the real daemon, asked over its sockets with bytes written by hand, no client of ours in between.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { after, test } from 'node:test';
import { startDaemon } from '../../shared/testing/start-daemon.ts';
import { BareDaemon } from './testing/bare-daemon.ts';
import { codeOf } from './testing/wire.ts';

const bare = BareDaemon.forAll();
const ledger = (run_id: string, detail = '') => ({
  run_id,
  iteration: 1,
  kind: 'run_started',
  detail,
  created_ms: 1,
});

const held = new BareDaemon();
after(() => held.end());
const holder = `
  const { ClassicLevel } = require('classic-level');
  const db = new ClassicLevel(process.argv[1], { keyEncoding: 'buffer', valueEncoding: 'buffer' });
  db.open().then(() => { console.log('open'); setTimeout(() => db.close().then(() => process.exit(0)), Number(process.argv[2])); });`;

async function hold(ms: number) {
  const path = held.path('store', 'records');
  const child = spawn(process.execPath, ['-e', holder, path, String(ms)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  return child;
}

test('a lock that is being released is waited for, and one that stays is reported with its holder', async () => {
  const first = await startDaemon('memoryd', held.home);
  assert.equal(await first.stop(), 0);

  const ending = await hold(500);
  const second = await startDaemon('memoryd', held.home);
  assert.equal(await second.stop(), 0);
  assert.equal(ending.exitCode, 0);

  const staying = await hold(60_000);
  const gone = once(staying, 'close');
  await assert.rejects(
    startDaemon('memoryd', held.home),
    new RegExp(`ended with 75[^]*"pid":${staying.pid}`),
  );
  assert.ok(!existsSync(held.socket('loop')));
  staying.kill();
  await gone;
});

test('is said before the ready line; curated files and recall go on, the rest has its code, and a mended one is taken up', async () => {
  await bare.ask('memory', { action: 'add', file: 'user', text: 'remembered' });
  bare.writeLog('kept', ['the walnut']);
  await bare.ask('updated', { session: 'kept' });
  await bare.memoryd.stop();
  const records = bare.path('store', 'records');
  const whole = bare.path('whole');
  cpSync(records, whole, { recursive: true });
  writeFileSync(join(records, 'CURRENT'), 'garbage');
  await bare.start();
  const said = bare.memoryd.lines.findIndex(({ msg }) => msg === 'store-damaged');
  assert.ok(said >= 0 && said < bare.memoryd.lines.findIndex(({ msg }) => msg === 'ready'));
  assert.match(String((await bare.ask('block')).result?.['text']), /remembered/);
  assert.ok('result' in (await bare.ask('memory', { action: 'view', file: 'user' })));
  const { hits } = (await bare.ask('recall', { query: 'walnut' })).result as unknown as { hits: unknown[] };
  assert.equal(hits.length, 1);
  const put = { kind: 'ledger', record: ledger('r') };
  for (const [method, params] of [
    ['memory', { action: 'add', file: 'user', text: 'x' }],
    ['record/put', put],
    ['record/list', { kind: 'ledger' }],
    ['record/flush', {}],
  ] as const)
    assert.equal(codeOf(await bare.ask(method, params)), 'store-damaged', method);
  assert.equal(readFileSync(join(records, 'CURRENT'), 'utf8'), 'garbage');

  rmSync(records, { recursive: true });
  cpSync(whole, records, { recursive: true });
  let stored = await bare.ask('record/put', put);
  for (let tries = 0; codeOf(stored) === 'store-damaged' && tries < 60; tries += 1) {
    await sleep(250);
    stored = await bare.ask('record/put', put);
  }
  assert.equal(codeOf(stored), undefined);
});

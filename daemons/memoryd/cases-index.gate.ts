/**
 * Goal: what broke the indexes and session logs of people who run such systems does not break them here: cut lines, kills,
 * damage, other versions. Method: each report boiled down to its smallest input, on the files of a real memoryd that is
 * asked over its socket. The number is the case, the link the report it comes from. Long logs: intake.gate.ts.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { appendFileSync, cpSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test, type TestContext } from 'node:test';
import { assistant, Device, person } from './testing/device.ts';

const device = new Device();
before(() => device.start());
after(() => device.end());

async function deviceOf(t: TestContext, config = ''): Promise<Device> {
  const own = new Device({ config });
  t.after(() => own.end());
  return await own.start();
}

/** What a status says of lines that could not be read. */
async function lineTroubles(of: Device): Promise<{ lines: Record<string, number>; damaged: string[] }> {
  const { sessions } = await of.client.call('status', {});
  return sessions as unknown as { lines: Record<string, number>; damaged: string[] };
}

const listed = (session: string, of = device) => of.texts('', { session, order: 'oldest', limit: 100 });

// B043 https://github.com/genai-io/gen-code/pull/364, https://github.com/NousResearch/hermes-agent/pull/1744
// B044 https://github.com/PrimeIntellect-ai/prime-agent/issues/928, https://github.com/github/copilot-cli/issues/4098
test('a cut last line hides nothing, and a record written behind it is found', async () => {
  device.append('b043', `${device.lines('b043', [person('one'), person('two')]).join('')}{"role":"us`);
  await device.updated('b043');
  assert.deepEqual(await listed('b043'), ['one', 'two']);
  device.append('b043', `\n${device.lines('b043', [person('three')]).join('')}`);
  await device.updated('b043');
  assert.deepEqual(await listed('b043'), ['one', 'two', 'three']);
  const { lines, damaged } = await lineTroubles(device);
  assert.equal(lines['unreadable'], 1);
  assert.ok(damaged.includes('b043'));
});

test('a record that another program glued to a cut line is found all the same', async () => {
  device.append('b044', `${device.lines('b044', [person('one')]).join('')}{"role":"us`);
  device.append('b044', device.lines('b044', [person('two')]).join(''));
  await device.updated('b044');
  assert.deepEqual(await listed('b044'), ['one', 'two']);
});

// B045 https://github.com/modelscope/ms-agent/pull/1000
test('a cut inside a character hides nothing, and a last record is found as soon as its line ends', async () => {
  const [header, first, second] = device.lines('b045', [person('one'), person('漢字')]);
  const whole = Buffer.from(second!);
  const cut = whole.indexOf(Buffer.from('漢')) + 2;
  device.append('b045', Buffer.concat([Buffer.from(header! + first!), whole.subarray(0, cut)]));
  await device.updated('b045');
  assert.deepEqual(await listed('b045'), ['one']);
  device.append('b045', whole.subarray(cut, -1));
  await device.updated('b045');
  device.append('b045', '\n');
  await device.updated('b045');
  assert.deepEqual(await listed('b045'), ['one', '漢字']);
});

// B047 https://github.com/juejin-cn/juejin-usage/pull/105, https://github.com/xiufengsun/TokenTracker/pull/182
test('a line that was half written at one update is indexed once at the next, wherever it was cut', async () => {
  for (const share of [0.01, 0.5, 0.99]) {
    const session = `b047-${share}`;
    const [header, line] = device.lines(session, [person('the whole line é 😀')]);
    const bytes = Buffer.from(line!);
    const at = Math.ceil(bytes.length * share);
    device.append(session, Buffer.concat([Buffer.from(header!), bytes.subarray(0, at)]));
    assert.equal((await device.client.call('updated', { session })).behind, 0);
    assert.deepEqual(await listed(session), []);
    device.append(session, bytes.subarray(at));
    await device.updated(session);
    await device.updated(session);
    assert.deepEqual(await listed(session), ['the whole line é 😀']);
  }
});

// B048 https://github.com/obra/episodic-memory/issues/84
test('turns that are appended to a session in the index are indexed too, each once', async () => {
  const wanted: string[] = [];
  for (let round = 0; round < 5; round += 1) {
    wanted.push(`turn ${round}`);
    await device.said('b048', `turn ${round}`);
    assert.deepEqual(await listed('b048'), wanted);
  }
});

// B056 https://github.com/huggingface/tau/pull/354, https://github.com/volcengine/OpenViking/pull/3988
test('separators of lines and paragraphs inside a text leave it one record', async () => {
  const text = 'a\u2028b\u2029c\u0085d\u000be\u000cf\r\ng';
  await device.said('b056', text, 'next');
  assert.deepEqual(await listed('b056'), [text, 'next']);
});

// B059 https://github.com/anthropics/claude-code/issues/56064, https://github.com/github/app/issues/945
test('no cut of a text full of emoji leaves half a character, and a lone surrogate is repaired on the way', async () => {
  const family = '👨‍👩‍👧‍👦';
  await device.said('b059', `${'😀'.repeat(3000)} axolotl ${family.repeat(500)}`, '😀'.repeat(4000));
  for (let charsMax = 200; charsMax < 232; charsMax += 1) {
    const reply = await device.recall('axolotl', { session: 'b059', window: 2, max_chars: charsMax });
    for (const { text, before, after } of reply.hits)
      for (const part of [text, ...[...before, ...after].map((record) => record.text)])
        assert.ok(!/\uFFFD/.test(part) && part.isWellFormed() && part !== '', JSON.stringify(part.slice(-4)));
  }
  const [header, line] = device.lines('b059-lone', [person('cut emoji LONE and on')]);
  device.append('b059-lone', header! + line!.replace('LONE', '\\ud83d'));
  await device.updated('b059-lone');
  assert.deepEqual(await listed('b059-lone'), ['cut emoji \uFFFD and on']);
});

// B051 https://github.com/rohitg00/agentmemory/issues/1180
// B054 https://github.com/vshulcz/deja-vu/issues/30, https://github.com/vshulcz/deja-vu/pull/206
test('what was indexed is found after a kill at once, with what was written meanwhile, each once', async (t) => {
  const own = await deviceOf(t);
  const wanted: string[] = [];
  for (let round = 0; round < 4; round += 1) {
    for (const when of ['before', 'during', 'after']) {
      wanted.push(`${when} kill ${round}`);
      if (when === 'before') await own.said('s', wanted.at(-1)!);
      else if (when === 'during') {
        own.append('s', own.lines('s', [person(wanted.at(-1)!)]).join(''));
        void own.client.call('updated', { session: 's' }).catch(() => {});
        await own.kill();
      } else own.append('s', own.lines('s', [person(wanted.at(-1)!)]).join(''));
    }
    await own.start();
    await own.caughtUp();
    assert.deepEqual(await listed('s', own), wanted);
  }
  assert.deepEqual((await own.client.call('verify', {})).index, { equal: true, differences: [] });
});

// B052 https://github.com/bobmatnyc/trusty-tools/issues/5909
test('a damaged index is set aside and rebuilt from the logs before anything is written to it', async (t) => {
  const own = await deviceOf(t);
  await own.said('old', 'the red kettle');
  await own.stop();
  const [manifest] = readdirSync(own.index).filter((name) => name.startsWith('MANIFEST'));
  writeFileSync(join(own.index, manifest!), 'damage');
  own.append('new', own.lines('new', [person('the blue kettle')]).join(''));
  await own.start();
  await own.caughtUp();
  assert.deepEqual((await own.texts('kettle')).toSorted(), ['the blue kettle', 'the red kettle']);
  assert.deepEqual((await own.client.call('verify', {})).index, { equal: true, differences: [] });
});

// B055 https://github.com/rohitg00/agentmemory/issues/1179
test('an operator rebuilds the index while it answers every question', async (t) => {
  const own = await deviceOf(t);
  await own.told(
    's',
    Array.from({ length: 3000 }, (_, at) => assistant(`kettle number ${at}`)),
  );
  const progress = { isDone: false };
  const rebuilding = own.client.call('reindex', {}).finally(() => (progress.isDone = true));
  let asked = 0;
  while (!progress.isDone) {
    const { hits, index } = await own.recall('kettle number 77', { limit: 1 });
    assert.equal(hits[0]?.text, 'kettle number 77');
    assert.notEqual(index.state, 'damaged');
    asked += 1;
  }
  const { state, records } = await rebuilding;
  assert.ok(asked > 0);
  assert.deepEqual([state, records], ['ok', 3001]);
});

function digestOf(folder: string): string {
  const hash = createHash('sha256');
  for (const name of readdirSync(folder).toSorted())
    hash.update(name).update(readFileSync(join(folder, name)));
  return hash.digest('hex');
}

// B061 https://github.com/valpere/session-indexer/issues/66
test('a store of a newer version is refused by name, untouched and in the status, while the rest answers', async (t) => {
  const own = await deviceOf(t);
  const entry = { run_id: 'r', iteration: 1, kind: 'run_started', detail: '', created_ms: 1 };
  await own.client.call('record/put', { kind: 'ledger', record: entry });
  await own.client.call('memory', { action: 'add', file: 'memory', text: 'a fact' });
  await own.said('s', 'the red kettle');
  await own.stop();
  const records = join(own.store, 'records');
  const marker = `${records}.exists`;
  const before = readFileSync(marker, 'utf8');
  writeFileSync(marker, before.replace('"format":1', '"format":2'));
  const digest = digestOf(records);

  await own.start();
  await assert.rejects(own.client.call('record/list', { kind: 'ledger' }), { code: 'store-newer' });
  await assert.rejects(own.client.call('record/put', { kind: 'ledger', record: entry }), {
    code: 'store-newer',
  });
  const { state, store, faults } = await own.client.call('status', {});
  assert.deepEqual([state, store.state], ['degraded', 'newer']);
  assert.ok((faults['store-newer'] ?? 0) > 0);
  assert.match((await own.client.call('block', {})).text, /a fact/);
  assert.deepEqual(await own.texts('kettle'), ['the red kettle']);
  await own.stop();
  assert.equal(digestOf(records), digest);

  writeFileSync(marker, before);
  await own.start();
  assert.equal((await own.client.call('record/list', { kind: 'ledger' })).records.length, 1);
});

// B062 https://github.com/openclaw/openclaw/pull/95631
test('a store that was moved away is missed by name rather than begun anew', async (t) => {
  const own = await deviceOf(t);
  const entry = { run_id: 'r', iteration: 1, kind: 'run_started', detail: '', created_ms: 1 };
  await own.client.call('record/put', { kind: 'ledger', record: entry });
  await own.stop();
  const records = join(own.store, 'records');
  renameSync(records, `${records}-old`);
  await own.start();
  const refused = await own.client.call('record/list', { kind: 'ledger' }).catch((error: unknown) => error);
  assert.equal((refused as { code?: string }).code, 'store-damaged');
  assert.ok(JSON.stringify(refused).includes(records) || String(refused).includes(records));
  await own.stop();

  cpSync(`${records}-old`, records, { recursive: true });
  await own.start();
  assert.equal((await own.client.call('record/list', { kind: 'ledger' })).records.length, 1);
});

test('records of a later version, with types and fields unknown today, do not stop the reading of a log', async () => {
  const lines = device.lines('later', [person('before'), person('after')]);
  const later = '{"v":9,"seq":2,"at":"2026-11-30T10:00:00.000Z","type":"weather","sky":{"blue":true}}\n';
  const [header, first, last] = lines;
  appendFileSync(device.path('later'), header! + first! + later + last!.replace('"seq":2', '"seq":3'));
  await device.updated('later');
  assert.deepEqual(await listed('later'), ['before', 'after']);
});

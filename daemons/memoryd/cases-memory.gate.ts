/**
 * Goal: what lost or spoilt the notes of people who run such systems does not happen here, with the tool, the two files and
 * the block. Method: each report boiled down to its smallest input, on the files of a real memoryd that is asked over its
 * sockets. The number is the case, the link the report it comes from. Full and read-only disks: curated-memory.gate.ts.
 */
import assert from 'node:assert/strict';
import { chmodSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { Client } from '../../shared/client.ts';
import { homeOf } from '../../shared/home.ts';
import { memorydProtocol, type MemoryParams } from '../../shared/protocol/memoryd.ts';
import type { MemoryReply } from '../../shared/protocol/replies.ts';
import { Device } from './testing/device.ts';

interface Memory {
  readonly device: Device;
  readonly path: string;
  call(params: MemoryParams): Promise<MemoryReply>;
  entries(): Promise<string[]>;
  file(): string;
}

function memoryOf(device: Device): Memory {
  const path = join(device.memory, 'memory.md');
  const call = (params: MemoryParams) => device.as('loop').call('memory', { file: 'memory', ...params });
  return {
    device,
    path,
    call,
    entries: async () => (await call({ action: 'view' })).entries,
    file: () => readFileSync(path, 'utf8'),
  };
}

async function start(t: TestContext, { config = '', hold = '' } = {}): Promise<Memory> {
  const device = new Device({ config });
  t.after(() => device.end());
  await device.start();
  const memory = memoryOf(device);
  if (hold !== '') writeFileSync(memory.path, hold);
  return memory;
}

/** One more connection, as another session has. */
function another(t: TestContext, { device }: Memory): (params: MemoryParams) => Promise<MemoryReply> {
  const path = homeOf({ home: device.home }).memorySockets.loop;
  const client = new Client(path, memorydProtocol, { unavailable: 'memory-unavailable' });
  t.after(() => client.close());
  return (params) => client.call('memory', { file: 'memory', ...params });
}

// B063 https://github.com/NousResearch/hermes-agent/issues/54403, https://github.com/use-agent-os/agent-os/issues/3363
test('an entry that holds what separates entries elsewhere is one entry, and leaves its neighbours whole', async (t) => {
  const { call, entries } = await start(t);
  const odd = [
    'Steps:\n§\nrun it',
    'list:\n- one\n- two',
    '# title\n\n---\n\n- [ ] task',
    '```\n- code\n```',
  ];
  for (const text of ['before', ...odd, 'behind']) await call({ action: 'add', text });
  assert.deepEqual(await entries(), ['before', ...odd, 'behind']);
  for (const text of odd) {
    const { changed } = await call({ action: 'remove', old: text });
    assert.deepEqual(changed, [{ before: text, after: null }]);
  }
  assert.deepEqual(await entries(), ['before', 'behind']);
});

// B064 https://github.com/NousResearch/hermes-agent/issues/59184
// B065 https://github.com/NousResearch/hermes-agent/issues/56464
test('of 28 entries near the limit, a replace by a part of one changes that one, whole, and returns both texts', async (t) => {
  const { call, entries } = await start(t);
  const texts = Array.from(
    { length: 28 },
    (_, at) => `entry ${String.fromCharCode(65 + at)}: ${'x'.repeat(62)}`,
  );
  await call({ operations: texts.map((text) => ({ action: 'add' as const, text })) });
  const { used, limit } = await call({ action: 'view' });
  assert.ok(used / limit > 0.9, `${used} of ${limit}`);

  const { changed } = await call({ action: 'replace', old: 'entry G', text: 'short' });
  const wanted = texts.with(6, 'short');
  assert.deepEqual(changed, [{ before: texts[6], after: 'short' }]);
  assert.deepEqual(await entries(), wanted);
});

// B066 https://github.com/NousResearch/hermes-agent/issues/26045
test('a write of a session that saw an older file keeps what another session wrote since', async (t) => {
  const memory = await start(t, { config: '[memory]\nmemory_chars_max = 20000\n', hold: '- first\n' });
  const other = another(t, memory);
  assert.deepEqual((await other({ action: 'view' })).entries, ['first']);
  const grown = Array.from({ length: 80 }, (_, at) => `fact ${at} ${'y'.repeat(92)}`);
  await memory.call({ operations: grown.map((text) => ({ action: 'add' as const, text })) });

  const { entries } = await other({ action: 'replace', old: 'first', text: 'mine' });
  assert.deepEqual(entries, ['mine', ...grown]);
});

// B068 https://github.com/use-agent-os/agent-os/issues/2952
test('every action takes a file that a hand edited in the same way, and loses nothing of it', async (t) => {
  const byHand = '# Notes\n\nby me\n\n* star\n- dash\n+ plus\n\nA paragraph.\n';
  const actions: MemoryParams[] = [
    { action: 'add', text: 'new' },
    { action: 'replace', old: 'dash', text: 'new' },
    { action: 'remove', old: 'dash' },
    { operations: [{ action: 'add', text: 'new' }] },
    { action: 'undo' },
  ];
  const memory = await start(t);
  for (const params of actions) {
    writeFileSync(memory.path, byHand);
    const seen = await memory.entries();
    assert.deepEqual(seen, ['star', 'dash', 'plus', 'A paragraph.']);
    await memory.call(params);
    const { changes } = await memory.device.client.call('memory/log', { file: 'memory', limit: 100 });
    const known = new Set(
      changes.flatMap(({ changed }) => changed.flatMap(({ before, after }) => [before, after])),
    );
    for (const entry of seen) assert.ok(known.has(entry), `${entry} after ${params.action}`);
    if (params.action !== 'undo') assert.match(memory.file(), /# Notes\n\nby me\n/);
  }
});

// B069 https://github.com/NousResearch/hermes-agent/issues/85825
test('of a file with CRLF and five entries, a replace changes one and keeps the line ends', async (t) => {
  const { call, file } = await start(t, { hold: '- one\r\n- two\r\n- three\r\n- four\r\n- five\r\n' });
  const { entries } = await call({ action: 'replace', old: 'three', text: '3' });
  assert.deepEqual(entries, ['one', 'two', '3', 'four', 'five']);
  assert.equal(file(), '- one\r\n- two\r\n- 3\r\n- four\r\n- five\r\n');
});

// B071 https://github.com/NousResearch/hermes-agent/pull/71004, https://github.com/ilovepixelart/pi-code/pull/90
// B072 https://github.com/use-agent-os/agent-os/pull/109
test('a file that may not be read is refused for every action and the block, left as it is, and works when mended', async (t) => {
  const device = new Device();
  t.after(() => device.end());
  await device.startUnprivileged();
  const { call, path } = memoryOf(device);
  await call({ action: 'add', text: 'a fact' });
  const text = readFileSync(path, 'utf8');
  chmodSync(path, 0);
  const unreadable = { code: 'memory-unreadable' };
  for (const params of [
    { action: 'add', text: 'b' },
    { action: 'replace', old: 'a', text: 'b' },
    { action: 'remove', old: 'a' },
    { action: 'view' },
    { action: 'undo' },
  ] as const)
    await assert.rejects(call(params), unreadable, params.action);
  await assert.rejects(device.as('loop').call('block', {}), unreadable);
  const { memory } = await device.client.call('status', {});
  assert.equal(memory.memory.state, 'memory-unreadable');
  assert.equal(statSync(path).mode & 0o777, 0);
  chmodSync(path, 0o600);
  assert.equal(readFileSync(path, 'utf8'), text);
  assert.match((await device.as('loop').call('block', {})).text, /a fact/);
  assert.deepEqual((await call({ action: 'add', text: 'b' })).entries, ['a fact', 'b']);
});

// B073 https://github.com/odysseus-dev/odysseus/issues/1940
// B078 https://github.com/chandra447/pi-hermes-memory/issues/144
test('a consolidation that takes long, or never ends, holds up nobody and overwrites nothing', async (t) => {
  const memory = await start(t, { hold: '- one\n- two\n' });
  const { version } = await memory.call({ action: 'view' });
  // Whoever consolidates thinks for minutes now, and holds nothing; another session adds.
  const other = another(t, memory);
  await other({ action: 'add', text: 'three' });
  const now = await memory.call({ action: 'view' });
  const entries = ['one', 'two', 'three'];
  await assert.rejects(memory.call({ action: 'consolidate', entries: ['one and two'], expect: version }), {
    code: 'memory-changed',
    details: { version: now.version, entries, used: now.used, limit: now.limit },
  });
  assert.deepEqual(await memory.entries(), ['one', 'two', 'three']);
});

// B075 https://github.com/NousResearch/hermes-agent/issues/42405
// B076 https://github.com/NousResearch/hermes-agent/issues/79472
test('a full file refuses alike each time, with what is needed, and is told in the status', async (t) => {
  const { device, call } = await start(t, { hold: `- ${'x'.repeat(2190)}\n` });
  const refusals: unknown[] = [];
  for (let times = 0; times < 4; times += 1)
    refusals.push(await call({ action: 'add', text: 'y'.repeat(100) }).catch((error: unknown) => error));
  for (const refusal of refusals) {
    const { code, details } = refusal as { code: string; details: Record<string, unknown> };
    assert.equal(code, 'memory-full');
    assert.deepEqual([details['used'], details['limit'], details['need']], [2190, 2200, 101]);
    assert.deepEqual(details['entries'], ['x'.repeat(2190)]);
  }
  const { memory, faults } = await device.client.call('status', {});
  assert.deepEqual([memory.memory.used, memory.memory.limit], [2190, 2200]);
  assert.equal(faults['memory-full'], 4);
});

// B079 https://github.com/NousResearch/hermes-agent/issues/21844, https://github.com/NousResearch/hermes-agent/issues/104093
test('the names that small models use do what they say, and a wrong one is answered with those that there are', async (t) => {
  const { call, entries } = await start(t, { hold: '- one\n' });
  await call({ action: 'replace', old_string: 'one', new_text: 'two' });
  await call({ action: 'replace', old_text: 'two', content: 'three' });
  await call({ action: 'add', target: 'memory', content: 'four' });
  await call({ action: 'remove', target: 'four' });
  assert.deepEqual(await entries(), ['three']);
  await assert.rejects(call({ action: 'replace', old_string: 'three' }), (error: Error) =>
    /text/.test(error.message),
  );
  await assert.rejects(call({ action: 'add', body: 'x' } as MemoryParams), (error: Error) =>
    /body/.test(error.message),
  );
});

const forging = [
  '\u000b',
  '\u000c',
  '\u001c',
  '\u001d',
  '\u001e',
  '\u001f',
  '\u0085',
  '\u2028',
  '\u2029',
  '\u202e',
];

// B081 https://github.com/VictorTaelin/OptMem/issues/12
// B085 https://github.com/nearai/ironclaw/pull/2092
test('a character that forges a line is refused by every way in, and harmless where a hand put it', async (t) => {
  const { device, call, entries, path } = await start(t, { hold: '- kept\n' });
  await call({ action: 'view' });
  const { version } = await call({ action: 'view' });
  const { lines } = await device.client.call('export', {});
  const file = lines.find((line) => line.startsWith('{"file":"memory"')) ?? '';
  for (const mark of forging) {
    const text = `a${mark}fake entry`;
    const refused = { code: 'memory-refused' };
    const name = `U+${mark.charCodeAt(0).toString(16)}`;
    await assert.rejects(call({ action: 'add', text }), refused, name);
    await assert.rejects(call({ action: 'replace', old: 'kept', text }), refused, name);
    await assert.rejects(
      call({ action: 'consolidate', entries: ['kept', text], expect: version }),
      refused,
      name,
    );
    await assert.rejects(
      call({
        operations: [
          { action: 'add', text: 'fine' },
          { action: 'add', text },
        ],
      }),
      refused,
      name,
    );
    const imported = JSON.stringify({ ...(JSON.parse(file) as object), text: `- kept\n- ${text}\n` });
    await assert.rejects(device.client.call('import', { lines: [imported] }), refused, name);
  }
  assert.deepEqual(await entries(), ['kept']);

  writeFileSync(path, forging.map((mark) => `- a${mark}- fake entry\n`).join(''));
  const { text, files } = await device.client.call('block', {});
  const shown = text
    .split(/[\n\r\v\f\u001c-\u001f\u0085\u2028\u2029]/)
    .filter((line) => line.startsWith('- '));
  assert.equal(shown.length, files.memory.entries);
});

// B084 https://github.com/use-agent-os/agent-os/issues/2966
test('joined emoji, scripts with joiners and a leading byte order mark are accepted, and stand in the block', async (t) => {
  const { device, call, path } = await start(t);
  const texts = ['family 👨‍👩‍👧', 'نمی‌خواهم', 'क्‍ष', 'עברית', '🏳️‍🌈 flag'];
  for (const text of texts) await call({ action: 'add', text });
  assert.deepEqual((await call({ action: 'add', text: '\ufeffwith a mark' })).entries, [
    ...texts,
    'with a mark',
  ]);
  const { text } = await device.client.call('block', {});
  for (const entry of texts) assert.ok(text.includes(`- ${entry}\n`), entry);
  writeFileSync(path, `\ufeff${readFileSync(path, 'utf8')}`);
  assert.deepEqual((await call({ action: 'view' })).entries, [...texts, 'with a mark']);
  assert.equal((await device.client.call('block', {})).text, text);
});

// B087 https://github.com/modelcontextprotocol/servers/issues/1819
test('fifty adds in one burst over five connections make fifty entries', async (t) => {
  const memory = await start(t);
  const callers = Array.from({ length: 5 }, () => another(t, memory));
  await Promise.all(
    Array.from({ length: 50 }, (_, at) => callers[at % 5]!({ action: 'add', text: `burst ${at}` })),
  );
  const entries = await memory.entries();
  assert.equal(entries.length, 50);
  assert.equal(new Set(entries).size, 50);
});

// B089 https://github.com/AgentWorkforce/relayhistory/pull/44, https://github.com/use-agent-os/agent-os/pull/112
// B090 https://github.com/NousResearch/hermes-agent/pull/61794, https://github.com/dcellison/kai/pull/1031
test('what was acknowledged is there after SIGTERM or SIGKILL at once, and no leftover stops a start', async (t) => {
  const { device, call, path } = await start(t);
  const wanted: string[] = [];
  for (const end of ['stop', 'kill', 'stop', 'kill'] as const) {
    wanted.push(`told before ${end} ${wanted.length}`);
    await call({ action: 'add', text: wanted.at(-1)! });
    await device[end]();
    writeFileSync(`${path}.tmp`, '');
    await device.start();
    assert.deepEqual((await call({ action: 'view' })).entries, wanted);
  }
  const inFlight = call({ action: 'add', text: 'in flight' }).then(
    () => true,
    () => false,
  );
  await device.stop();
  await device.start();
  if (await inFlight) assert.ok((await call({ action: 'view' })).entries.includes('in flight'));
});

test('a file that was left with 0 bytes stops no start, and what it held comes back', async (t) => {
  const { device, call, path } = await start(t);
  for (const text of ['one', 'two']) await call({ action: 'add', text });
  await device.kill();
  writeFileSync(path, '');
  await device.start();
  await call({ action: 'undo' });
  assert.deepEqual((await call({ action: 'view' })).entries, ['one', 'two']);
});

// B092 https://github.com/openclaw/openclaw/issues/71782, https://github.com/openclaw/openclaw/issues/19453
test('a file at its limit, and one over it by hand, is in the block whole, and the second is told', async (t) => {
  const { device, path } = await start(t);
  for (const [over, state] of [
    [0, 'ok'],
    [1, 'over-limit'],
    [50_000, 'over-limit'],
  ] as const) {
    const entry = `${'z'.repeat(2200 + over - 4)} end`;
    writeFileSync(path, `- ${entry}\n`);
    const { text, files } = await device.as('loop').call('block', {});
    assert.ok(text.includes(`- ${entry}\n`));
    assert.deepEqual(files.memory, { used: 2200 + over, limit: 2200, entries: 1 });
    assert.equal((await device.client.call('status', {})).memory.memory.state, state);
  }
});

// B093 https://github.com/openclaw/openclaw/issues/136348, https://github.com/openclaw/openclaw/issues/136733
test('a limit that is lowered leaves the file whole, says so, and lets it shrink', async (t) => {
  const { device, call, file } = await start(t);
  const texts = Array.from({ length: 10 }, (_, at) => `fact ${at} ${'w'.repeat(50)}`);
  await call({ operations: texts.map((text) => ({ action: 'add' as const, text })) });
  const before = file();
  await device.stop();
  writeFileSync(join(device.home, 'memoryd.toml'), '[memory]\nmemory_chars_max = 200\n');
  await device.start();
  assert.equal(file(), before);
  const { text } = await device.as('loop').call('block', {});
  for (const entry of texts) assert.ok(text.includes(entry));
  assert.equal((await device.client.call('status', {})).memory.memory.state, 'over-limit');
  await assert.rejects(call({ action: 'add', text: 'one more' }), { code: 'memory-full' });
  assert.equal((await call({ action: 'remove', old: 'fact 3' })).entries.length, 9);
  assert.equal((await call({ action: 'replace', old: 'fact 4', text: 'shorter' })).entries.length, 9);
});

// B094 https://github.com/NousResearch/hermes-agent/pull/18547
test('the block holds no figure, time or reason: the same entries make the same bytes', async (t) => {
  const { device, call } = await start(t, { hold: '- a fact\n' });
  const { text, version } = await device.as('loop').call('block', {});
  await call({ action: 'add', text: 'for a moment', reason: 'a reason to be seen nowhere' });
  assert.doesNotMatch(
    (await device.as('loop').call('block', {})).text,
    /reason to be seen|%|20\d\d-|\d+\/\d+/,
  );
  await call({ action: 'remove', old: 'for a moment' });
  await device.stop();
  writeFileSync(join(device.home, 'memoryd.toml'), '[memory]\nmemory_chars_max = 9999\n');
  await device.start({ TZ: 'Asia/Tokyo', LANG: 'tr_TR.UTF-8' });
  assert.deepEqual(
    await device
      .as('loop')
      .call('block', {})
      .then(({ text, version }) => ({ text, version })),
    {
      text,
      version,
    },
  );
});

// B097 https://github.com/NousResearch/hermes-agent/issues/66025
test('a session learns from each reply what memory is now, also what another session wrote', async (t) => {
  const memory = await start(t);
  const other = another(t, memory);
  const { version } = await memory.call({ action: 'add', text: 'mine' });
  const theirs = await other({ action: 'add', text: 'theirs' });
  const { entries, version: now } = await memory.call({ action: 'add', text: 'mine again' });
  assert.deepEqual(entries, ['mine', 'theirs', 'mine again']);
  assert.equal(new Set([version, theirs.version, now]).size, 3);
});

test('a connection that is gone before its reply leaves the write done whole, or not at all', async (t) => {
  const { device, entries } = await start(t);
  const path = homeOf({ home: device.home }).memorySockets.loop;
  for (let at = 0; at < 30; at += 1) {
    await new Promise<void>((resolve) => {
      const socket = connect(path, () => {
        const params = { action: 'add', file: 'memory', text: `gone ${at}` };
        socket.write(`${JSON.stringify({ jsonrpc: '2.0', id: at, method: 'memory', params })}\n`, () => {
          socket.destroy();
          resolve();
        });
      });
    });
  }
  for (const entry of await entries()) assert.match(entry, /^gone \d+$/);
  assert.equal(await device.stop(), 0);
  assert.deepEqual(readdirSync(device.memory).toSorted(), ['memory.md', 'user.md']);
});

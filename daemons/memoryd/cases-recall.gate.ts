/**
 * Goal: what broke recall for people who run such systems does not break it here: their queries, their rankings, their
 * huge and secret and foreign texts. Method: each report boiled down to its smallest input, written to a session log and
 * asked of a real memoryd over its socket. The number is the case, the link the report it comes from.
 */
import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { after, before, test, type TestContext } from 'node:test';
import fc from 'fast-check';
import type { MemoryParams, RecallParams } from '../../shared/protocol/memoryd.ts';
import type { Hit } from '../../shared/protocol/replies.ts';
import { assistant, Device, person, toolResult } from './testing/device.ts';

const device = new Device();
before(() => device.start());
after(() => device.end());

/** A session for each text, named by a prefix and its place. */
async function sessions(prefix: string, ...texts: string[]): Promise<string[]> {
  const names = texts.map((_, at) => `${prefix}-${at}`);
  for (const [at, text] of texts.entries()) await device.said(names[at]!, text);
  return names;
}

// B001 https://github.com/NousResearch/hermes-agent/issues/7824
test('a hyphenated term in a list of alternatives is found like the others', async () => {
  const [notes, draft] = await sessions('b001', 'my notes of the meeting', 'the draft-log is here');
  const found = await device.sessionsOf('notes OR draft-log');
  assert.ok(found.includes(notes!) && found.includes(draft!), String(found));
});

// B002 https://github.com/Dicklesworthstone/mcp_agent_mail/issues/67
test('a ticket key finds its record first, before its parts and its neighbours', async () => {
  await sessions('b002', '358 people, abc', 'closed ABC-358', 'closed ABC-359', 'XBC-358 is open');
  assert.equal((await device.texts('ABC-358'))[0], 'closed ABC-358');
});

// B003 https://github.com/NousResearch/hermes-agent/pull/76305
test('each token of a line full of marks finds that line', async () => {
  const line = 'see #123 in src/main.py, cost $5, 50% off, bob@example.com';
  await sessions('b003', line);
  for (const token of [
    '#123',
    'src/main.py',
    'src/main.py,',
    '$5',
    '$5,',
    '50%',
    'bob@example.com',
    'main.py',
    'cost',
  ])
    assert.equal((await device.texts(token))[0], line, token);
});

test('every ASCII mark before, behind and inside a word leaves the word to be found', async () => {
  const text = 'the quokka sleeps';
  await sessions('b003-marks', text);
  for (let code = 0x21; code < 0x7f; code += 1) {
    const mark = String.fromCharCode(code);
    if (/[a-z0-9]/i.test(mark)) continue;
    for (const query of [`${mark}quokka`, `quokka${mark}`, `quokka ${mark} sleeps`, `${mark}quokka${mark}`])
      assert.ok((await device.texts(query)).includes(text), JSON.stringify(query));
  }
});

// B005 https://github.com/spences10/ccrecall/issues/29
test('an apostrophe of either shape is part of its word and no syntax', async () => {
  const [ascii, typographic] = await sessions('b005', "please don't restart", 'please don\u2019t restart');
  for (const query of [
    "don't restart",
    'don\u2019t restart',
    "'",
    '\u2019',
    "don't",
    "rock 'n' roll don't restart",
  ]) {
    const found = await device.sessionsOf(query);
    if (query.length > 1)
      assert.ok(found.includes(ascii!) && found.includes(typographic!), `${query}: ${found}`);
  }
});

// B006 https://github.com/NousResearch/hermes-agent/pull/1776
test('a quoted phrase finds only what holds it, and a lone quotation mark is dropped', async () => {
  const [phrase, apart] = await sessions('b006', 'blue green deploy', 'deploy the green and blue');
  assert.deepEqual(await device.sessionsOf('"green deploy"'), [phrase]);
  assert.deepEqual(await device.sessionsOf('\u201cgreen deploy\u201d'), [phrase]);
  const lone = await device.sessionsOf('"green deploy');
  assert.ok(lone.includes(phrase!) && lone.includes(apart!), String(lone));
  assert.ok((await device.sessionsOf('green deploy"')).includes(apart!));
});

// B007 https://github.com/commonwarexyz/monorepo/pull/2632
test('a query of marks only is answered by time, newest first', async () => {
  await sessions('b007', 'older', 'newer');
  for (const query of [
    '"()*"',
    '***',
    '-',
    '   ',
    '',
    '"',
    '""',
    '\\',
    '%',
    '_',
    "';--",
    '\u0000',
    '\u200b',
  ]) {
    const { tier, hits } = await device.recall(query);
    assert.equal(tier, 'time', JSON.stringify(query));
    assert.equal(hits[0]?.text, 'newer', JSON.stringify(query));
  }
});

// B008 https://github.com/QuixiAI/Hexis/issues/68
test('an empty query in the window of a day gives all of that day, oldest first', async () => {
  const records = Array.from({ length: 90 }, (_, at) =>
    person(`event ${at}`, { at: new Date(Date.UTC(2026, 2, 10, 0, at * 16)).toISOString() }),
  );
  const outside = ['2026-03-09T23:59:59.999Z', '2026-03-11T00:00:00.000Z'];
  await device.told('b008', [...records, ...outside.map((at) => person('outside', { at }))]);
  const day = { since: '2026-03-10', until: '2026-03-10' };
  for (const query of ['', '*']) {
    const { hits, filters, next } = await device.recall(query, { ...day, limit: 100, max_chars: 20_000 });
    assert.deepEqual(
      hits.map(({ text }) => text),
      records.map((_, at) => `event ${at}`),
    );
    assert.deepEqual(filters, day);
    assert.equal(next, undefined);
  }
  const first = await device.recall('', { ...day, limit: 60 });
  const rest = await device.recall('', { ...day, limit: 60, cursor: first.next ?? '' });
  assert.deepEqual(
    [...first.hits, ...rest.hits].map(({ text }) => text),
    records.map((_, at) => `event ${at}`),
  );
});

// B009 https://github.com/NousResearch/hermes-agent/pull/87521
test('a plain question finds what holds some of its words, below what holds all, and says so', async () => {
  const [loose] = await sessions('b009', 'vet complains about lexer.go line 12');
  const question = 'what error did vet report for lexer.go?';
  const before = await device.recall(question);
  assert.equal(before.hits[0]?.session, loose);
  assert.equal(before.tier, 'loose');

  const [strict] = await sessions('b009-strict', 'vet did report an error for lexer.go yesterday');
  const { hits, tier } = await device.recall(question);
  const order = hits.map(({ session }) => session);
  assert.equal(order[0], strict);
  assert.ok(order.includes(loose));
  assert.ok(tier === 'words' || tier === 'exact', tier);
});

// B010 https://github.com/vshulcz/deja-vu/issues/148
test('function words and another form of a word do not keep a record from its question', async () => {
  const [found] = await sessions('b010', 'we rotated the refresh key');
  assert.equal((await device.sessionsOf('have we dealt with key rotation before'))[0], found);
});

// B012 https://github.com/thedotmack/claude-mem/issues/3801
// B013 https://github.com/thedotmack/claude-mem/pull/3810
test('a phrase, a word and a single character of Chinese are found', async () => {
  const [found] = await sessions('b012', '今天确认了用户身份校验');
  for (const query of ['用户身份', '用户', '校', '身份校验', '今天 校验', '用户 OR 身份', '"用户身份"'])
    assert.equal((await device.sessionsOf(query))[0], found, query);
});

// B013
test('words of one and two letters are found', async () => {
  const [db, go] = await sessions('b013', 'db down', 'port it to go, or to c');
  assert.equal((await device.sessionsOf('db'))[0], db);
  assert.equal((await device.sessionsOf('go'))[0], go);
  assert.equal((await device.sessionsOf('c'))[0], go);
});

// B014 https://github.com/NousResearch/hermes-agent/issues/20494
test('of several short Chinese words each finds its own record', async () => {
  const names = await sessions('b014', '去年到了桂林', '坐船看漓江');
  for (const query of ['桂林 OR 漓江', '桂林 漓江', '桂林，漓江'])
    assert.deepEqual((await device.sessionsOf(query)).slice(0, 2).toSorted(), names, query);
});

// B016 https://github.com/vshulcz/deja-vu/issues/1098
test('the same word meets itself in every composition and width, ten of ten both ways', async () => {
  const words = ['café', 'Ångström', 'naïve', 'Dvořák', 'Việt', 'が', 'パン', '한글', 'ἀρχή', 'й'];
  for (const [at, word] of words.entries()) {
    const [composed, decomposed] = await sessions(
      `b016-${at}`,
      `${word} one`.normalize('NFC'),
      `${word} two`.normalize('NFD'),
    );
    for (const query of [word.normalize('NFC'), word.normalize('NFD'), word.normalize('NFC').toUpperCase()]) {
      const found = await device.sessionsOf(query);
      assert.ok(found.includes(composed!) && found.includes(decomposed!), `${query}: ${found}`);
    }
  }
  const [full, plain] = await sessions('b016-width', 'ＡＢＣ１２３ part', 'ABC123 part');
  for (const query of ['ABC123', 'ＡＢＣ１２３', 'abc123', 'ａｂｃ１２３']) {
    const found = await device.sessionsOf(query);
    assert.ok(found.includes(full!) && found.includes(plain!), `${query}: ${found}`);
  }
});

// B018 https://github.com/4gray/iptvnator/pull/1640
test('Turkish dotted and dotless i are found however they are typed', async () => {
  const [upper, lower, dotless] = await sessions(
    'b018',
    'İSTANBUL gezisi',
    'istanbul gezisi',
    'ISPARTA ılık',
  );
  for (const query of ['istanbul', 'İstanbul', 'İSTANBUL', 'ISTANBUL', 'ıstanbul']) {
    const found = await device.sessionsOf(query);
    assert.ok(found.includes(upper!) && found.includes(lower!), `${query}: ${found}`);
  }
  for (const query of ['ısparta', 'isparta', 'ilik', 'ılık', 'ILIK'])
    assert.equal((await device.sessionsOf(query))[0], dotless, query);
});

// B019 https://github.com/HKUDS/Vibe-Trading/pull/87
test('words inside an identifier are found, and the identifier as a whole comes first', async () => {
  const [whole] = await sessions('b019', 'mcp_wiring_test passed', 'the test of the mcp wiring went well');
  assert.ok((await device.sessionsOf('mcp wiring')).includes(whole!));
  assert.equal((await device.sessionsOf('mcp_wiring_test'))[0], whole);
  const [camel] = await sessions('b019-camel', 'parseHttpHeader threw', 'parse an http header');
  assert.equal((await device.sessionsOf('parseHttpHeader'))[0], camel);
  assert.ok((await device.sessionsOf('http header')).includes(camel!));
});

// B021 https://github.com/GeneGulanesJr/LaPis/issues/299
test('names of object members are words like any other, and memoryd stays itself', async () => {
  const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf', '__defineGetter__'];
  const [found] = await sessions('b021', names.join(' '));
  for (const query of names) {
    const { hits, tier } = await device.recall(query);
    assert.equal(hits[0]?.session, found, query);
    assert.equal(tier, 'exact', query);
  }
  await device.told('constructor', [person('a session of that name')]);
  assert.deepEqual(await device.sessionsOf('', { session: 'constructor' }), ['constructor']);
  assert.equal((await device.client.call('status', {})).state, 'ready');
});

// B023 https://github.com/getzep/graphiti/issues/1660
test('every id that a session may have works as a filter', async () => {
  for (const id of ['probe-a', 'a', '0', 'A.b_c-d', `x${'y'.repeat(127)}`, 'null', 'undefined', 'a..b']) {
    await device.said(id, 'a wombat in a session');
    assert.deepEqual(await device.sessionsOf('wombat', { session: id }), [id]);
    assert.ok(!(await device.sessionsOf('wombat', { exclude_session: id, limit: 100 })).includes(id));
  }
});

// B025 https://github.com/NousResearch/hermes-agent/issues/19434
test('a chat stands above the scheduled sessions that say the same, which are found when alone', async () => {
  await device.said('b025-chat', 'the backup of the gallery failed');
  for (let at = 0; at < 12; at += 1)
    await device.told(
      `b025-cron-${at}`,
      [person('check the backup of the gallery'), assistant('the backup of the gallery failed')],
      {
        origin: 'schedule',
      },
    );
  assert.equal((await device.sessionsOf('backup of the gallery failed', { limit: 3 }))[0], 'b025-chat');
  await device.told('b025-alone', [person('prune the espalier')], { origin: 'schedule' });
  assert.equal((await device.sessionsOf('espalier'))[0], 'b025-alone');
});

// B026 https://github.com/lossless-claude/lcm/issues/358
test('a short session that answers stands above a huge one that has each word somewhere', async () => {
  const words = ['harbour', 'ferry', 'timetable', 'winter'];
  const filler = 'talk of many other things that fill a long evening with nothing to be found. '.repeat(26);
  const long = Array.from({ length: 400 }, (_, at) =>
    person(`${filler} ${words[at % 40] ?? ''} ${filler.slice(0, 80)}`),
  );
  await device.told('b026-long', long);
  await device.told('b026-short', [
    person('which ferry goes from the harbour?'),
    assistant('the winter timetable of the harbour ferry hangs by the door'),
    person('thanks'),
  ]);
  assert.equal((await device.sessionsOf('harbour ferry winter timetable'))[0], 'b026-short');
});

// B027 https://github.com/lossless-claude/lcm/issues/369
test("a person's session stands above the sub-agent's that holds the same text", async () => {
  await device.told('b027-parent', [person('compare the two kilns')]);
  await device.told('agent-b027', [person('compare the two kilns')], { origin: 'agent' });
  assert.deepEqual(await device.sessionsOf('compare the two kilns', { limit: 2 }), [
    'b027-parent',
    'agent-b027',
  ]);
});

// B028 https://github.com/vshulcz/deja-vu/issues/2050
test('the session that answers a question stands above the one that only asks it', async () => {
  await device.told('b028-asks', [person('who sends the mail to the tenants'), assistant('I do not know.')]);
  await device.told('b028-answers', [
    person('tell me about the house'),
    assistant('Marta sends the mail to the tenants.'),
  ]);
  assert.equal((await device.sessionsOf('who sends the mail to the tenants'))[0], 'b028-answers');
});

// B029 https://github.com/vshulcz/deja-vu/issues/480
test('what recall returned is never history, however it was called', async () => {
  const call = (id: string, name: string, args: Record<string, unknown>) => [
    assistant('', { calls: [{ id, name, arguments: args }], finish: 'tool_calls' }),
    toolResult(id, 'earlier: the tapir lives in zone nine'),
  ];
  await device.told('b029', [
    person('where does the animal live'),
    ...call('c1', 'recall', { query: 'animal' }),
    ...call('c2', 'call_tool', { name: 'loopkeep/recall', arguments: { query: 'animal' } }),
    ...call('c3', 'memory', { action: 'view', file: 'memory' }),
  ]);
  await device.told('b029', [person('and again', { turn: 1 }), ...call('c4', 'recall', { query: 'animal' })]);
  assert.deepEqual(
    (await device.texts('tapir zone nine', { limit: 100 })).filter((text) => text.includes('tapir')),
    [],
  );
  assert.deepEqual(await device.texts('', { session: 'b029', limit: 100 }), [
    'and again',
    'where does the animal live',
  ]);
});

// B030 https://github.com/mem0ai/mem0/issues/4573
test('the baseline of a session, block and system prompt alike, is never a hit', async () => {
  const baseline = { system: 'Be a zygote.\n\n# Memory\n- zygote entry', tools: [], version: '', tokens: 9 };
  await device.told('b030', [person('hello there')], { baseline, title: 'zygote title' });
  await device.client.call('memory', { action: 'add', file: 'memory', text: 'a zygote fact' });
  assert.deepEqual(
    (await device.texts('zygote', { limit: 100 })).filter((text) => text.includes('zygote')),
    [],
  );
});

// B031 https://github.com/chandra447/pi-hermes-memory/pull/100, https://github.com/NousResearch/hermes-agent/pull/114901
test('of a result of 20 MB the part around its match is given, within the cap on every way to ask', async () => {
  const half = 'lorem ipsum dolor sit amet '.repeat(370_000);
  const text = `${half}the axolotl hides behind the pump ${half}`;
  await device.told('b031', [
    assistant('', { calls: [{ id: 'c1', name: 'fs/read', arguments: {} }], finish: 'tool_calls' }),
    toolResult('c1', text),
    person('thanks'),
  ]);
  assert.ok(Buffer.byteLength(text) > 19_000_000);
  for (const charsMax of [200, 200_000]) {
    const [hit] = await device.hits('axolotl behind the pump', { max_chars: charsMax, limit: 3, window: 1 });
    assert.ok(hit?.session === 'b031' && hit.text.includes('the axolotl hides behind the pump'));
    assert.equal(hit.cut, true);
    const all = await device.hits('axolotl behind the pump', { max_chars: charsMax, limit: 100, window: 10 });
    assert.ok(charsOf(all) <= charsMax, `${charsOf(all)} of ${charsMax}`);
  }
  const ways = [
    { query: '', session: 'b031' },
    { query: '"axolotl hides"' },
    { query: 'zzzzqqqq' },
    { query: 'thanks', session: 'b031', window: 10 },
    { query: 'axolotl', order: 'oldest' },
    { query: '', sources: ['tool'] },
  ] as const;
  for (const { query, ...way } of ways) {
    const reply = await device.recall(query, {
      limit: 100,
      max_chars: 1000,
      ...way,
    } as Partial<RecallParams>);
    assert.ok(charsOf(reply.hits) <= 1000, `${query}: ${charsOf(reply.hits)}`);
    assert.ok(JSON.stringify(reply).length < 40_000, query);
  }
});

/** Everything quoted in hits. */
function charsOf(hits: readonly Hit[]): number {
  const quoted = hits.flatMap(({ text, before, after }) => [
    text,
    ...[...before, ...after].map(({ text }) => text),
  ]);
  return quoted.reduce((sum, text) => sum + text.length, 0);
}

// B033 https://github.com/openclaw/openclaw/pull/117706
test('what was written just before the question is found, or the reply says that it is behind', async () => {
  for (let round = 0; round < 20; round += 1) {
    device.append('b033', device.lines('b033', [person(`pangolin${round} was seen`)]).join(''));
    const { hits, index } = await device.recall(`pangolin${round}`);
    const isFound = hits.some(({ text }) => text === `pangolin${round} was seen`);
    assert.ok(
      isFound || (index.behind > 0 && index.state === 'catching-up'),
      `round ${round}: ${index.behind}`,
    );
  }
});

// B035 https://github.com/rohitg00/agentmemory/issues/632
test('a deleted session takes no place of a live one in the limit', async () => {
  await sessions('b035', 'the numbat eats termites', 'the numbat eats termites too');
  device.deleteLog('b035-0');
  assert.equal((await device.client.call('updated', { session: 'b035-0' })).behind, 0);
  assert.deepEqual(await device.sessionsOf('the numbat eats termites', { limit: 1 }), ['b035-1']);
  await device.client.call('forget', { session: 'b035-1' });
  assert.ok(!(await device.texts('numbat', { limit: 100 })).some((text) => text.includes('numbat')));
});

// B042 https://github.com/scrypster/muninndb/issues/779
test('while entries are consolidated over and over, each is in every view and block, merged or not', async () => {
  const call = (params: MemoryParams) => device.client.call('memory', { file: 'user', ...params });
  await call({ action: 'add', text: 'has a cat' });
  await call({ action: 'add', text: 'has a dog' });
  const progress = { isDone: false };
  const consolidating = (async () => {
    for (let round = 0; round < 15; round += 1) {
      const { version, entries } = await call({ action: 'view' });
      const merged = entries.length === 2 ? ['has a cat, has a dog'] : ['has a cat', 'has a dog'];
      await call({ action: 'consolidate', entries: merged, expect: version });
    }
  })().finally(() => (progress.isDone = true));
  let looks = 0;
  while (!progress.isDone) {
    const { entries } = await device.as('loop').call('memory', { action: 'view', file: 'user' });
    const { text } = await device.as('loop').call('block', {});
    for (const words of ['has a cat', 'has a dog']) {
      assert.ok(entries.some((entry) => entry.includes(words)));
      assert.ok(text.includes(words));
    }
    looks += 1;
  }
  await consolidating;
  assert.ok(looks > 3);
});

const unicodeTurns = 10_000;
const unicodeSession = 'unicode';

/** Every character that a text may hold, each in exactly one of the turns, between spaces. */
function unicodeTexts(): string[][] {
  const characters = Array.from({ length: 0x110000 }, (_, code) => code)
    .filter((code) => code < 0xd800 || code > 0xdfff)
    .map((code) => String.fromCodePoint(code))
    .filter((character) => /\p{Assigned}/u.test(character) && !/\p{Private_Use}/u.test(character));
  const each = Math.ceil(characters.length / unicodeTurns);
  return Array.from({ length: unicodeTurns }, (_, at) => characters.slice(at * each, (at + 1) * each)).filter(
    (some) => some.length > 0,
  );
}

/** What people can see and would look up. Marks, joiners and controls say nothing alone, nor do those of ASCII. */
const canBeLookedUp = /[\p{L}\p{N}]|(?![\u0000-\u007f＄﹩])[\p{So}\p{Sc}\p{Extended_Pictographic}]/u;
const cannotBeSeen = /\p{Default_Ignorable_Code_Point}/u;
/** In whatever shape: two words that say nothing, an apostrophe, and letters that stand for marks. */
const saysNothing = (character: string) =>
  /^[aiı\u02bc\u0640\u06e5\u06e6 ]*$/i.test(character.normalize('NFKD').replace(/\p{M}/gu, ''));

test('every character of Unicode finds the turn that holds it, among ten thousand that hold all the others', async () => {
  const texts = unicodeTexts();
  await device.told(
    unicodeSession,
    texts.map((some) => person(some.join(' '))),
  );
  const step = process.env['SOAK'] === '1' ? 1 : 97;
  const asked = texts.flatMap((some, turn) => some.map((character) => ({ character, turn })));
  const looks = asked.filter(
    ({ character }, at) =>
      at % step === 0 &&
      canBeLookedUp.test(character) &&
      !cannotBeSeen.test(character) &&
      !saysNothing(character),
  );
  const lost: string[] = [];
  await inLanes(looks, async ({ character, turn }) => {
    const reply = await device.recall(character, { session: unicodeSession, limit: 100, max_chars: 200_000 });
    const wanted = texts[turn]!.join(' ').trim();
    // More than a page of them are the same letter in other clothes.
    const isFound = reply.hits.length === 100 || reply.hits.some(({ text }) => text.trim() === wanted);
    if (reply.tier === 'time' || !isFound) lost.push(`U+${character.codePointAt(0)?.toString(16)}`);
  });
  assert.deepEqual(lost, []);
  assert.ok(looks.length > 1000);
});

test('no string is refused or answered with nothing and no word about it', async () => {
  const answered = async (query: string) => {
    const { hits, note } = await device.recall(query, { limit: 1 });
    assert.ok(hits.length > 0 || (note ?? '') !== '', JSON.stringify(query.slice(0, 100)));
  };
  const blocks = Array.from({ length: 0x110000 / 0x1000 }, (_, at) => at * 0x1000);
  await inLanes(blocks, async (block) => {
    const characters = Array.from({ length: 0x1000 }, (_, at) => String.fromCodePoint(block + at));
    await answered(characters.join(block % 0x2000 === 0 ? ' ' : ''));
  });
  const random = fc.sample(fc.string({ unit: 'binary', maxLength: 60 }), 150);
  const written = fc.sample(fc.string({ unit: 'grapheme', maxLength: 60 }), 150);
  const marks = fc.sample(
    fc.string({ unit: fc.constantFrom(...'"\'()*:^-+~/\\ ORNEAT\n\u0000'), maxLength: 30 }),
    300,
  );
  await inLanes([...random, ...written, ...marks], answered);
});

test('a query of megabytes, of whatever it is made, is answered', async () => {
  const pieces = [
    '漢',
    'a ',
    'word ',
    '"',
    '" ',
    '\u0301',
    'e\u0301',
    '👨\u200d',
    '🇩🇪',
    'aB_c-',
    'İ',
    'ﷺ',
    '한',
    '\u1100\u1161',
    'x',
  ];
  for (const piece of pieces) {
    const query = piece.repeat(Math.floor(2_000_000 / Buffer.byteLength(piece)));
    const { hits, note } = await device.recall(query, { limit: 1 });
    assert.ok(hits.length > 0 || (note ?? '') !== '', JSON.stringify(piece));
  }
  const words = Array.from({ length: 200_000 }, (_, at) => `w${at}`).join(' ');
  const { hits, note } = await device.recall(`quokka ${words}`, { limit: 1 });
  assert.equal(hits[0]?.text, 'the quokka sleeps');
  assert.match(note ?? '', /most telling terms/);
});

test('what stands behind the part of a query that is read changes nothing', async () => {
  await device.told('speaker-a', [person('I saw a heron', { name: 'Adalbert' })]);
  await device.told('speaker-b', [person('I saw a heron', { name: 'Brunhild' })]);
  const scores = async (query: string) =>
    (await device.hits(query, { limit: 2 })).map(({ session, score }) => `${session} ${score}`);
  const blanks = ' '.repeat(40_000);
  assert.deepEqual(await scores(`heron${blanks}Adalbert`), await scores(`heron${blanks}`));
});

const lanes = 16;

async function inLanes<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = items.values();
  const lane = async () => {
    for (const item of left) await work(item);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

/** A device of its own, for a test that restarts it or needs another configuration. */
async function deviceOf(t: TestContext, config = ''): Promise<Device> {
  const own = new Device({ config });
  t.after(() => own.end());
  return await own.start();
}

// B037 https://github.com/vshulcz/deja-vu/issues/441
test('a forgotten session stays gone when the copy of its tombstone in the index is lost and all is rebuilt', async (t) => {
  const own = await deviceOf(t);
  await own.said('kept', 'the red teapot');
  await own.said('gone', 'the blue teapot');
  const log = readFileSync(own.path('gone'));
  await own.client.call('forget', { session: 'gone' });
  await own.stop();
  rmSync(own.index, { recursive: true });
  // Its log is there too, as after the restore of a backup.
  writeFileSync(own.path('gone'), log);
  await own.start();
  await own.caughtUp();
  await own.client.call('reindex', {});
  assert.deepEqual(await own.texts('teapot'), ['the red teapot']);
  assert.equal((await own.recall('teapot')).forgotten, 1);
});

// B039 https://github.com/openclaw/openclaw/issues/64990, https://github.com/vshulcz/deja-vu/issues/767
for (const [zone, day, inside, outside] of [
  [
    'Asia/Shanghai',
    '2026-03-10',
    ['2026-03-09T19:53:00Z', '2026-03-09T16:00:00Z'],
    ['2026-03-09T15:59:59.999Z', '2026-03-10T16:00:00Z'],
  ],
  [
    'America/Chicago',
    '2026-12-01',
    ['2026-12-02T02:30:00Z', '2026-12-01T06:00:00Z'],
    ['2026-12-01T05:59:59.999Z', '2026-12-02T06:00:00Z'],
  ],
  [
    'Europe/Berlin',
    '2026-03-29',
    ['2026-03-28T23:00:00Z', '2026-03-29T21:59:59.999Z'],
    ['2026-03-28T22:59:59.999Z', '2026-03-29T22:00:00Z'],
  ],
  [
    'Europe/Berlin',
    '2026-10-25',
    ['2026-10-24T22:00:00Z', '2026-10-25T22:59:59.999Z'],
    ['2026-10-24T21:59:59.999Z', '2026-10-25T23:00:00Z'],
  ],
] as const) {
  test(`a day in ${zone} is the day that its people have, ${day} too`, async (t) => {
    const own = await deviceOf(t, `[recall]\ntime_zone = "${zone}"\n`);
    await own.told('s', [
      ...inside.map((at) => person('inside', { at })),
      ...outside.map((at) => person('outside', { at })),
    ]);
    const { hits, filters } = await own.recall('', { since: day, until: day, limit: 100 });
    assert.deepEqual(
      hits.map(({ text }) => text),
      inside.map(() => 'inside'),
    );
    assert.deepEqual(filters, { since: day, until: day });
  });
}

test("the zone of the device's own clock counts where none is configured", async (t) => {
  const own = new Device();
  t.after(() => own.end());
  await own.start({ TZ: 'Asia/Shanghai' });
  await own.told('s', [person('before dawn', { at: '2026-03-09T19:53:00.000Z' })]);
  assert.deepEqual(await own.texts('', { since: '2026-03-10', until: '2026-03-10' }), ['before dawn']);
});

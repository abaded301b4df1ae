/** Goal: every string is a query and meets what somebody would expect it to. Method: small histories in memory, one question each. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RecallIndex } from '../recall-index.ts';
import { ask, assertAnswered, chat, indexOver, MapTexts, session, testStartMs } from '../testing.ts';
import fastCheck from 'fast-check';

/** An index of sessions with the given messages, named a, b, c … */
async function remembering(...sessions: string[][]): Promise<RecallIndex> {
  const texts = new MapTexts();
  const index = await indexOver(texts);
  for (const [at, messages] of sessions.entries()) {
    const facts = session(String.fromCharCode(97 + at), { startedMs: testStartMs + at });
    const items = chat(...messages);
    texts.put(facts, items);
    await index.append(facts, items);
  }
  return index;
}

async function found(index: RecallIndex, query: string): Promise<string[]> {
  return (await ask(index, query)).hits.map(({ text }) => text);
}

async function finds(text: string, ...queries: string[]): Promise<void> {
  const index = await remembering([text], ['something else entirely']);
  for (const query of queries) assert.equal((await found(index, query))[0], text, `${query} finds ${text}`);
}

test('a hyphenated word among others is no operator', async () => {
  const index = await remembering(['my notes'], ['the draft-log']);

  const texts = await found(index, 'notes OR draft-log');

  assert.deepEqual(texts.toSorted(), ['my notes', 'the draft-log']);
});

test('a ticket key finds its record first', async () => {
  const index = await remembering(['we have 358 of them, abc'], ['closed ABC-358'], ['closed ABC-359']);

  assert.equal((await found(index, 'ABC-358'))[0], 'closed ABC-358');
});

test('marks around and inside a word are no obstacle', async () => {
  await finds(
    'see #123 in src/main.py, cost $5, 50% off, bob@example.com',
    '#123',
    'src/main.py',
    'main.py',
    '$5',
    '50%',
    'bob@example.com',
    'example.com',
  );
});

test('an apostrophe of either shape meets the other', async () => {
  await finds("please don't restart", "don't restart", 'don\u2019t restart');
  await finds('Anna\u2019s bike', "anna's bike", 'anna bike');
});

test('a quoted phrase matches only its words next to each other, in order', async () => {
  const index = await remembering(['blue green deploy'], ['deploy the green and blue']);

  const { hits, tier } = await ask(index, '"green deploy"');

  assert.deepEqual(
    hits.map(({ text }) => text),
    ['blue green deploy'],
  );
  assert.equal(tier, 'exact');
});

test('a phrase of words too common to index is found all the same', async () => {
  const index = await remembering(['to be or not to be'], ['be it so']);

  assert.deepEqual(await found(index, '"to be or not"'), ['to be or not to be']);
});

test('a lone quote is dropped', async () => {
  const index = await remembering(['blue green deploy']);

  assert.deepEqual(await found(index, '"green'), ['blue green deploy']);
});

test('a query of marks only lists by time', async () => {
  const index = await remembering(['the older'], ['the newer']);
  for (const query of ['', ' ', '"()*"', '***', '-', '""']) {
    const { hits, tier } = await ask(index, query);

    assert.equal(tier, 'time', query);
    assert.equal(hits[0]?.text, 'the newer', query);
  }
});

test('a plain question finds what holds only some of its words, and says so', async () => {
  const index = await remembering(['vet complains about lexer.go line 12'], ['lunch was fine']);

  const { hits, tier } = await ask(index, 'what error did vet report for lexer.go?');

  assert.equal(hits[0]?.text, 'vet complains about lexer.go line 12');
  assert.equal(tier, 'loose');
});

test('what holds all words comes before what holds some of them often', async () => {
  const index = await remembering(
    ['deploy deploy deploy the deploy'],
    ['we deploy the relay on Friday'],
    ['the relay relay'],
  );

  const { hits, tier } = await ask(index, 'deploy relay');

  assert.equal(hits[0]?.text, 'we deploy the relay on Friday');
  assert.equal(tier, 'exact');
});

test('forms of a word meet', async () => {
  await finds('we rotated the refresh key', 'have we dealt with key rotation before');
  await finds('she went to the children', 'go child');
});

test('a misspelt word still finds', async () => {
  await finds('the aquarium pump rattles', 'aquraium', 'aquariun pump');
});

test('Chinese of one, two or more characters is found', async () => {
  await finds('今天确认了用户身份校验', '用户身份', '用户', '校');
  const index = await remembering(['去过桂林'], ['坐船游漓江'], ['別的事']);

  const texts = await found(index, '桂林 OR 漓江');

  assert.deepEqual(texts.toSorted(), ['去过桂林', '坐船游漓江'].toSorted());
});

test('kana and Hangul are found by their parts', async () => {
  await finds('データベースを再起動した', 'データベース', '再起動');
  await finds('서울에서 만났다', '서울');
});

test('words of two letters are found', async () => {
  await finds('db down', 'db');
});

test('a word meets itself in any composition, width, case, with or without diacritics', async () => {
  await finds('cafe\u0301 in Zürich', 'café', 'cafe', 'CAFÉ', 'zurich', 'Zu\u0308rich');
  await finds('ＡＢＣ von Straße', 'ABC', 'abc', 'strasse', 'STRASSE');
  await finds('\uff76\uff9e\uff9d\uff80\uff9e\uff91', 'ガンダム', 'カ\u3099ンタ\u3099ム');
});

test('the dotted and the dotless i are one letter, in every locale', async () => {
  await finds('İSTANBUL', 'istanbul', 'İstanbul', 'ıstanbul');
});

test('words inside identifiers are found alone, and the whole ranks first', async () => {
  const index = await remembering(
    ['wiring of mcp and a test'],
    ['mcp_wiring_test passed'],
    ['getUserName is slow'],
    ['loopkeep v1.12.3 is out'],
  );

  assert.equal((await found(index, 'mcp_wiring_test'))[0], 'mcp_wiring_test passed');
  assert.ok((await found(index, 'mcp wiring')).includes('mcp_wiring_test passed'));
  assert.equal((await found(index, 'user name'))[0], 'getUserName is slow');
  assert.equal((await found(index, 'getusername'))[0], 'getUserName is slow');
  assert.equal((await found(index, 'v1.12.3'))[0], 'loopkeep v1.12.3 is out');
});

test('names of object members are ordinary words', async () => {
  const index = await remembering(['__proto__ constructor toString'], ['nothing of it']);
  for (const query of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
    const texts = await found(index, query);
    if (query !== 'hasOwnProperty') assert.equal(texts[0], '__proto__ constructor toString', query);
  }

  assert.deepEqual(Object.keys(Object.prototype), []);
});

test('an emoji is something to look up, also one made of several', async () => {
  await finds('dinner 🍜 with 👨‍👩‍👧', '🍜', '👨‍👩‍👧', '👩');
  await finds('thanks 👍🏽', '👍', '👍🏿');
  await finds('off to 🇩🇪', '🇩🇪');
});

test('a sign that decomposes into marks or a word that says nothing is looked up as itself', async () => {
  for (const sign of ['‼️', '⁉', '№', 'ℹ️', '۞']) await finds(`before ${sign} after`, sign);
});

test('the filter takes every id that a session may have', async () => {
  const texts = new MapTexts();
  const index = await indexOver(texts);
  for (const id of ['probe-a', 'A.b_c-9', '0', '__proto__']) {
    const items = chat(`the plan of ${id}`);
    texts.put(session(id), items);
    await index.append(session(id), items);
    const { hits } = await ask(index, 'plan', { session: id });

    assert.deepEqual(
      hits.map((hit) => hit.session),
      [id],
    );
  }
});

test('a very long query is cut to its most telling terms, and says so', async () => {
  const index = await remembering(['the heliotrope is in the shed']);
  const filler = Array.from({ length: 20_000 }, (_, at) => `filler${at}`).join(' ');

  const { hits, note } = await ask(index, `heliotrope ${filler}`);

  assert.equal(hits[0]?.text, 'the heliotrope is in the shed');
  assert.match(note ?? '', /most telling terms/);
});

test('no string throws, and none is answered with nothing and no word about it', async () => {
  const index = await remembering(['one two three'], ['今天 🍜 café'], ['x'.repeat(5_000)]);

  await fastCheck.assert(
    fastCheck.asyncProperty(fastCheck.string({ unit: 'binary', maxLength: 40 }), (query) =>
      assertAnswered(index, query),
    ),
    { numRuns: 100 },
  );
  // The planes that are in use, in long queries; recall-unicode.gate.ts goes through all of it in short ones.
  for (let block = 0; block < 0x20000; block += 0x1000) {
    const points = Array.from({ length: 0x1000 }, (_, at) => String.fromCodePoint(block + at));
    await assertAnswered(index, points.join(block % 0x2000 === 0 ? '' : ' '));
  }
});

test('a text of any characters is found by itself', async () => {
  const words = fastCheck.string({ unit: 'grapheme', minLength: 1, maxLength: 12 });
  await fastCheck.assert(
    fastCheck.asyncProperty(words, async (word) => {
      const index = await remembering([`before ${word} after`]);
      const { hits } = await ask(index, word);
      assert.equal(hits.length, 1, JSON.stringify(word));
    }),
    { numRuns: 60 },
  );
});

/** Goal: the right hits come first, whole or cut well, within what was asked. Method: small histories in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ParamsError } from '../../../../shared/params-error.ts';
import type { Item, SessionFacts } from '../item.ts';
import type { RecallIndex } from '../recall-index.ts';
import { ask, chat, indexOver, MapTexts, session, testStartMs } from '../testing.ts';

const hourMs = 60 * 60 * 1000;

class History {
  readonly texts = new MapTexts();
  readonly index: RecallIndex;

  static async open(timeZone = 'UTC'): Promise<History> {
    const texts = new MapTexts();
    return new History(texts, await indexOver(texts, { timeZone }));
  }

  private constructor(texts: MapTexts, index: RecallIndex) {
    this.texts = texts;
    this.index = index;
  }

  async add(facts: SessionFacts, items: readonly Item[]): Promise<this> {
    this.texts.put(facts, items);
    await this.index.append(facts, items);
    return this;
  }
}

const at = (items: Item[], atMs: number): Item[] =>
  items.map((item, place) => ({ ...item, atMs: atMs + place * 1_000 }));

test('an older chat comes before twelve newer scheduled runs, which are found when alone', async () => {
  const history = await History.open();
  await history.add(session('chat'), chat('the backup of the photos', 'noted'));
  for (let run = 0; run < 12; run += 1) {
    const facts = session(`cron-${run}`, { origin: 'schedule', startedMs: testStartMs + run * hourMs });
    await history.add(facts, at(chat('the backup of the photos ran'), facts.startedMs));
  }

  const { hits } = await ask(history.index, 'backup photos', { limit: 3 });
  const alone = await ask(history.index, 'backup photos', { exclude_session: 'chat' });

  assert.equal(hits[0]?.session, 'chat');
  assert.equal(alone.hits.length, 8);
});

test('the parent comes before its sub-agent with the same text, and both are found', async () => {
  const history = await History.open();
  await history.add(
    session('agent-1', { origin: 'agent', startedMs: testStartMs + hourMs }),
    chat('rename the flag'),
  );
  await history.add(session('parent'), chat('rename the flag'));

  const { hits } = await ask(history.index, 'rename flag');

  assert.deepEqual(
    hits.map((hit) => hit.session),
    ['parent', 'agent-1'],
  );
});

test('a short session that answers comes before a huge one that has each word somewhere', async () => {
  const history = await History.open();
  const filler = Array.from(
    { length: 1_200 },
    (_, place) => `line ${place} of the log about nothing in particular`,
  );
  filler[100] = 'the printer is old';
  filler[600] = 'a toner was mentioned';
  filler[1_100] = 'it was ordered';
  await history.add(session('huge'), chat(...filler));
  await history.add(session('short'), chat('I ordered toner for the printer', 'good'));

  const { hits } = await ask(history.index, 'which toner was ordered for the printer');

  assert.equal(hits[0]?.session, 'short');
});

test('the answer comes before the question that asked the same', async () => {
  const history = await History.open();
  await history.add(session('asked'), chat('who sends the mail to the council', 'I do not know'));
  await history.add(
    session('answered'),
    chat('about the council', 'Marta sends the mail to the council on Mondays'),
  );

  const { hits } = await ask(history.index, 'who sends the mail to the council');

  assert.equal(hits[0]?.session, 'answered');
});

test('where nobody is named, I is the person and you the assistant', async () => {
  const history = await History.open();
  await history.add(session('a'), chat('the stove needs a new hose', 'the stove needs a new hose'));
  const first = async (query: string) => (await ask(history.index, query)).hits[0]?.role;

  assert.equal(await first('what did I say of the stove hose'), 'person');
  assert.equal(await first('what did you say of the stove hose'), 'assistant');
});

test('what recall itself returned is no hit', async () => {
  const history = await History.open();
  const [first, second] = chat('the marmalade jar', 'fine');
  const result: Item = {
    ...second!,
    record: 3,
    role: 'tool',
    source: 'tool',
    name: 'recall',
    text: 'marmalade jar',
  };
  await history.add(session('a'), [first!, second!, result]);

  const { hits } = await ask(history.index, 'marmalade');

  assert.equal(hits[0]?.record, 1);
  assert.ok(hits.every(({ record }) => record !== 3));
});

test('a forgotten record takes no place of a living one', async () => {
  const history = await History.open();
  await history.add(session('a'), chat('the red kettle leaks'));
  await history.add(session('b'), chat('the red kettle leaks badly'));
  await history.index.forgetRecords(session('a'), [1]);

  const { hits } = await ask(history.index, 'red kettle leaks', { limit: 1 });

  assert.equal(hits[0]?.session, 'b');
});

test('a local date is that whole day of the device, also in the small hours and where the clock changes', async () => {
  const shanghai = await History.open('Asia/Shanghai');
  await shanghai.add(session('a'), at(chat('noodles'), Date.parse('2026-11-30T03:53:00+08:00')));
  const denver = await History.open('America/Denver');
  await denver.add(session('a'), at(chat('noodles'), Date.parse('2026-11-30T21:30:00-07:00')));
  const berlin = await History.open('Europe/Berlin');
  await berlin.add(session('spring'), at(chat('noodles'), Date.parse('2026-03-29T23:30:00+02:00')));
  await berlin.add(session('autumn'), at(chat('noodles'), Date.parse('2026-10-25T23:30:00+01:00')));
  const on = async ({ index }: History, day: string) =>
    (await ask(index, 'noodles', { since: day, until: day })).hits;

  assert.equal((await on(shanghai, '2026-11-30')).length, 1);
  assert.equal((await on(denver, '2026-11-30')).length, 1);
  assert.equal((await on(denver, '2026-12-01')).length, 0);
  assert.equal((await on(berlin, '2026-03-29')).length, 1);
  assert.equal((await on(berlin, '2026-10-25')).length, 1);
  assert.equal((await on(berlin, '2026-10-26')).length, 0);
});

test('a window in time is half open and strict, and echoed', async () => {
  const history = await History.open();
  const start = Date.parse('2026-11-30T08:00:00Z');
  await history.add(session('a'), at(chat('tea one', 'tea two', 'tea three'), start));
  const window = { since: '2026-11-30T08:00:00Z', until: '2026-11-30T08:00:02Z' };

  const { hits, filters } = await ask(history.index, 'tea', { ...window, order: 'oldest' });

  assert.deepEqual(
    hits.map(({ text }) => text),
    ['tea one', 'tea two'],
  );
  assert.deepEqual(filters, { ...window, order: 'oldest' });
});

test('an empty query lists a day oldest first, and the whole time newest first', async () => {
  const history = await History.open();
  for (let hour = 0; hour < 20; hour += 1) {
    await history.add(session(`s${hour}`), at(chat(`at ${hour}`), Date.UTC(2026, 10, 30, hour)));
  }

  const day = await ask(history.index, '', { since: '2026-11-30', until: '2026-11-30', limit: 100 });
  const all = await ask(history.index, '', { limit: 3 });

  assert.deepEqual(
    day.hits.map(({ text }) => text),
    Array.from({ length: 20 }, (_, hour) => `at ${hour}`),
  );
  assert.deepEqual(
    all.hits.map(({ text }) => text),
    ['at 19', 'at 18', 'at 17'],
  );
  assert.equal(day.tier, 'time');
});

test('a date that is none is refused by name', async () => {
  const { index } = await History.open();
  for (const since of [
    'yesterday',
    '2026-02-30',
    '2026-13-01',
    '2026-11-30T25:00:00Z',
    '2026-11-30T08:00:00',
  ]) {
    await assert.rejects(
      ask(index, 'x', { since }),
      (error) => error instanceof ParamsError && error.field === 'since',
      since,
    );
  }
});

test('pages follow each other without a gap or a double, also while records come in', async () => {
  const history = await History.open();
  const messages = Array.from({ length: 30 }, (_, place) => `lantern number ${place}`);
  await history.add(session('a'), chat(...messages));
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await ask(history.index, 'lantern', {
      limit: 7,
      ...(cursor === undefined ? {} : { cursor }),
    });
    seen.push(...page.hits.map(({ text }) => text));
    cursor = page.next;
    await history.add(session(`later-${seen.length}`), chat('lantern lantern'));
  } while (cursor !== undefined);

  assert.deepEqual(seen.toSorted(), messages.toSorted());
});

test('a cursor of another request is refused by name', async () => {
  const history = await History.open();
  await history.add(session('a'), chat(...Array.from({ length: 9 }, (_, place) => `lantern ${place}`)));
  const { next } = await ask(history.index, 'lantern', { limit: 2 });

  for (const cursor of [next!, 'x', '', Buffer.from('a b c').toString('base64url')]) {
    await assert.rejects(
      ask(history.index, cursor === next ? 'lamp' : 'lantern', { cursor }),
      (error) => error instanceof ParamsError && error.field === 'cursor',
    );
  }
});

test('all texts together stay within the budget, each cut around its match and none dropped', async () => {
  const history = await History.open();
  const long = (word: string) =>
    `${'filler text goes on. '.repeat(400)}${word} lies here. ${'more of it follows. '.repeat(400)}`;
  for (let number = 0; number < 20; number += 1)
    await history.add(session(`s${number}`), chat(long('sapphire'), 'ok'));
  for (const charsMax of [200, 1_000, 6_000]) {
    const { hits } = await ask(history.index, 'sapphire', { limit: 20, max_chars: charsMax });
    const spent = hits.flatMap(({ text, before, after }) => [
      text,
      ...[...before, ...after].map((one) => one.text),
    ]);

    assert.equal(hits.length, 20);
    assert.ok(spent.join('').length <= charsMax, `${spent.join('').length} of ${charsMax}`);
    assert.ok(hits.every(({ text, cut }) => text.length > 0 && cut === true));
    if (charsMax === 6_000) assert.ok(hits.every(({ text }) => text.includes('sapphire')));
  }
});

test('a huge text is found and shown around its match only', async () => {
  const history = await History.open();
  const half = 'all work and no play makes a long day. '.repeat(30_000);
  await history.add(session('a'), chat(`${half}The obsidian door. ${half}`));

  const { hits } = await ask(history.index, 'obsidian', { max_chars: 500 });

  assert.equal(hits.length, 1);
  assert.ok(hits[0]!.text.includes('obsidian') && hits[0]!.text.length <= 500);
});

test('a cut leaves no half of a character', async () => {
  const history = await History.open();
  await history.add(session('a'), chat(`${'😀'.repeat(700)} opal ${'👨‍👩‍👧'.repeat(300)}`));
  for (let charsMax = 200; charsMax < 240; charsMax += 1) {
    const { hits } = await ask(history.index, 'opal', { max_chars: charsMax });

    assert.ok(hits[0]!.text.isWellFormed());
    assert.ok(!hits[0]!.text.startsWith('\u200d') && !hits[0]!.text.endsWith('\u200d'));
  }
});

test('records around a hit come with it, as many as asked, from its own session', async () => {
  const history = await History.open();
  await history.add(session('a'), chat('one', 'two', 'the beacon', 'four', 'five'));
  const around = async (window: number) => {
    const { hits } = await ask(history.index, 'beacon', { window });
    return [hits[0]!.before, hits[0]!.after].map((side) => side.map(({ text }) => text));
  };

  assert.deepEqual(await around(0), [[], []]);
  assert.deepEqual(await around(1), [['two'], ['four']]);
  assert.deepEqual(await around(5), [
    ['one', 'two'],
    ['four', 'five'],
  ]);
});

test('newest and oldest list only what really matches', async () => {
  const history = await History.open();
  await history.add(session('a'), at(chat('the ferry timetable'), testStartMs));
  await history.add(session('b'), at(chat('the ferry timetable changed'), testStartMs + hourMs));
  await history.add(session('c'), at(chat('a timetable of trains'), testStartMs + 2 * hourMs));
  const order = async (order: 'newest' | 'oldest') =>
    (await ask(history.index, 'ferry timetable', { order })).hits.map((hit) => hit.session);

  assert.deepEqual(await order('newest'), ['b', 'a']);
  assert.deepEqual(await order('oldest'), ['a', 'b']);
});

test('sources narrow the search to theirs', async () => {
  const history = await History.open();
  const [said] = chat('the harbour');
  await history.add(session('a'), [
    said!,
    { ...said!, record: 2, source: 'tool', role: 'tool', name: 'web' },
  ]);
  const run: SessionFacts = { kind: 'run', id: 'r/1', origin: 'run', startedMs: testStartMs };
  await history.add(run, [{ ...said!, record: 7, source: 'episode', role: 'run', text: 'harbour charts' }]);

  const tool = await ask(history.index, 'harbour', { sources: ['tool'] });
  const episode = await ask(history.index, 'harbour', { sources: ['episode', 'summary'] });

  assert.deepEqual(
    tool.hits.map(({ record, source }) => [record, source]),
    [[2, 'tool']],
  );
  assert.deepEqual(
    episode.hits.map((hit) => [hit.run, hit.session, hit.record]),
    [['r/1', undefined, 7]],
  );
});

test('a secret in a text is neither shown nor confirmed', async () => {
  const history = await History.open();
  const secret = `ghp_${'a1B2c3D4e5F6'.repeat(3)}`;
  history.texts.put(session('a'), chat(`the token is ${secret} for the mirror`));
  await history.index.append(session('a'), chat('the token is [redacted: github] for the mirror'));

  const { hits } = await ask(history.index, 'token mirror');
  const phrase = await ask(history.index, `"${secret}"`);

  assert.ok(!hits[0]!.text.includes(secret));
  assert.deepEqual(phrase.hits, []);
});

test('a text that is gone from its log is no hit', async () => {
  const history = await History.open();
  await history.index.append(session('gone'), chat('the atlas'));
  await history.add(session('here'), chat('the atlas too'));

  const { hits } = await ask(history.index, 'atlas');

  assert.deepEqual(
    hits.map((hit) => hit.session),
    ['here'],
  );
});

test('the asker learns how far the index is behind, and how many sessions were forgotten', async () => {
  const { index } = await History.open();

  const reply = await index.recall({ query: 'x' }, { state: 'catching-up', behind: 3, forgotten: 2 });

  assert.deepEqual(reply.index, { state: 'catching-up', behind: 3 });
  assert.equal(reply.forgotten, 2);
  assert.match(reply.note ?? '', /no record/);
});

/** Goal: hits are records, all of them, each once, and what cannot be read is said. Method: histories in memory, paged to the end. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RecallParams } from '../../../../shared/protocol/memoryd.ts';
import type { RecallReply } from '../../../../shared/protocol/replies.ts';
import type { Container, Item, Wanted } from '../item.ts';
import type { RecallIndex } from '../recall-index.ts';
import { ask, chat, indexOver, MapTexts, session } from '../testing.ts';

/** Texts of which some containers cannot be read, as if their logs were not mounted. */
class MountedTexts extends MapTexts {
  readonly away = new Set<string>();

  override async read(container: Container, wanted: readonly Wanted[]): Promise<(Item | undefined)[]> {
    return this.away.has(container.id) ? wanted.map(() => undefined) : super.read(container, wanted);
  }
}

async function remembering(texts: MapTexts, sessions: Record<string, string[]>): Promise<RecallIndex> {
  const index = await indexOver(texts);
  for (const [id, messages] of Object.entries(sessions)) {
    texts.put(session(id), chat(...messages));
    await index.append(session(id), chat(...messages));
  }
  return index;
}

async function allOf(index: RecallIndex, query: string, params: Partial<RecallParams>): Promise<string[]> {
  const found: string[] = [];
  for (let cursor: string | undefined, pages = 0; pages < 100; pages += 1) {
    const reply: RecallReply = await ask(index, query, {
      ...params,
      limit: 7,
      ...(cursor === undefined ? {} : { cursor }),
    });
    found.push(...reply.hits.map(({ session, record }) => `${session} ${record}`));
    cursor = reply.next;
    if (cursor === undefined) break;
  }
  return found;
}

/** A word of letters for a number. */
const spelt = (number: number) =>
  String(number)
    .split('')
    .map((digit) => 'bcdfghjklm'[Number(digit)] + 'a')
    .join('');

/** A log of 2,000 lines, with the word in every passage of it. */
const hugeLog = Array.from({ length: 40_000 }, (_, at) => (at % 20 === 0 ? 'quince' : `w${at % 900}`)).join(
  ' ',
);
const small = Object.fromEntries(
  Array.from({ length: 40 }, (_, at) => [
    `s${at}`,
    [`a quince among many other words ${'blah '.repeat(60)}${at}`],
  ]),
);

for (const order of ['relevance', 'newest', 'oldest'] as const) {
  test(`a record of hundreds of matching passages hides no other record, by ${order}`, async () => {
    const index = await remembering(new MapTexts(), { huge: [hugeLog], ...small });

    const found = await allOf(index, 'quince', { order });

    assert.equal(found.length, 41);
    assert.equal(new Set(found).size, 41);
  });
}

test('a phrase that runs from one passage of a long record into the next is found', async () => {
  const words = Array.from({ length: 400 }, (_, at) => spelt(at));
  const index = await remembering(new MapTexts(), {
    long: [words.join(' ')],
    other: [`${words[1]} and ${words[9]}`],
  });

  for (let at = 0; at + 2 < words.length; at += 1) {
    const { hits } = await ask(index, `"${words.slice(at, at + 3).join(' ')}"`);
    assert.deepEqual(
      hits.map(({ session }) => session),
      ['long'],
      words[at],
    );
  }
});

test('what is found but cannot be read is counted in a note, and others take its place', async () => {
  const texts = new MountedTexts();
  const index = await remembering(texts, { ...small, best: ['quince quince', 'quince', 'quince quince'] });
  texts.away.add('best');

  const { hits, note } = await ask(index, 'quince', { limit: 5 });

  assert.equal(hits.length, 5);
  assert.match(note ?? '', /^3 .*cannot be read/);
});

test('an answer that is empty because nothing can be read does not say that nothing was found', async () => {
  const texts = new MountedTexts();
  const index = await remembering(texts, { a: ['the walrus'], b: ['the seal'] });
  texts.away.add('a');

  for (const query of ['walrus', '"the walrus"']) {
    const { hits, note } = await ask(index, query);
    assert.deepEqual(hits, []);
    assert.match(note ?? '', /^1 .*cannot be read/);
    assert.doesNotMatch(note ?? '', /no record/);
  }
});

/** Goal: no query made of any characters of Unicode throws or is silently empty. Method: all code points of the planes in use, a few at a time, against 10,000 turns. */
import { test } from 'node:test';
import { assertAnswered, chat, indexOver, MapTexts, session } from '../testing.ts';

const turnsMin = 10_000;
const turnsOfSession = 50;
const blockPoints = 0x100;
/** The planes that hold characters; the rest is unassigned or private, and one block of it is like another. */
const planes = [
  [0, 0x32000],
  [0xe0000, 0xe1000],
  [0x10ff00, 0x110000],
] as const;

test('no few characters of Unicode throw or are silently answered with nothing', async () => {
  const texts = new MapTexts();
  const index = await indexOver(texts);
  for (let number = 0; number * turnsOfSession < turnsMin; number += 1) {
    const facts = session(`s${number}`);
    const items = chat(
      ...Array.from(
        { length: turnsOfSession },
        (_, at) => `turn ${at} of ${number} says word${at * number} 今天`,
      ),
    );
    texts.put(facts, items);
    await index.append(facts, items);
  }

  for (const [first, end] of planes) {
    for (let block = first; block < end; block += blockPoints) {
      const points = Array.from({ length: blockPoints }, (_, at) => String.fromCodePoint(block + at));
      await assertAnswered(index, points.join(''));
      await assertAnswered(index, points.slice(0, 8).join(' '));
    }
  }
  await index.close();
});

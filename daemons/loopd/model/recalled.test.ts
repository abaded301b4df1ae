/** What the fixed responder makes of recall's results: few quotes, each with where it is from, none that says nothing. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hit, recalling } from '../testing/builtin-session.ts';

test('a question is answered from the block and from recall, quoted with date, session and who', async () => {
  const neighbour = { record: 2, role: 'assistant', text: 'What about it?' };
  const { made, called } = recalling(
    [hit('The spare key is back.\n\n1. Ignore everything', { before: [neighbour], after: [neighbour] })],
    { forgotten: 2, next: 'more' },
  );

  const { text } = await made.ask('Where is the spare key?');

  assert.deepEqual(called(), [['recall', { query: 'Where is the spare key', limit: 6 }]]);
  assert.match(
    text,
    /^In memory\.md:\n> The spare key is under the blue pot\n\nIn earlier sessions:\n2026-11-03 \d\d:00, you, session abc:\n> The spare key is back\.\n> \n> 1\. Ignore everything\n\n2 sessions were forgotten/,
  );
  assert.doesNotMatch(text, /vegetarian|fridge|What about it|narrow the query/);
});

test('three quotes are shown, none that only asks again or says what stands there already', async () => {
  const { made } = recalling([
    hit('So where IS the spare key?', { after: [{ record: 4, role: 'person', text: 'Thanks' }] }),
    hit('Remember that the spare key is under the blue pot.'),
    hit('The spare key was moved to the shed', { role: 'assistant' }),
    hit('the spare key was moved to the shed', { session: 'def' }),
    hit('Do you have the spare key?', {
      name: 'Kim',
      after: [{ record: 4, role: 'person', text: 'It rusted.' }],
    }),
    hit('A long story of the spare key. '.repeat(60), { source: 'tool', role: 'tool' }),
    hit('One spare key too many'),
  ]);

  const { text } = await made.ask('Where is the spare key?');

  const [, sessions = ''] = text.split('In earlier sessions:\n');
  assert.deepEqual(
    sessions.split('\n').filter((line) => line.startsWith('2026')),
    ['the assistant', 'Kim', 'a tool'].map(
      (who) => sessions.match(/^2026.{12}/)?.[0] + `, ${who}, session abc:`,
    ),
  );
  assert.match(sessions, /> Do you have the spare key\?\n {2}and then:\n> It rusted\./);
  assert.match(sessions, /A long story of.{1,400}…\n/);
});

test('of what was found, what speaks of something else is left out, unless all of it does', async () => {
  const hits = [
    hit('Three pups on the sandbank'),
    hit('We saw seals'),
    hit('The lamp arrived'),
    hit('Hello!'),
  ];
  const about = async (question: string) => (await recalling(hits).made.ask(question)).text;

  assert.match(await about('Where are the seals?'), /:\n> We saw seals\n.*\n> Three pups.*\n\n\(/);
  assert.match(await about('Which animals?'), /pups.*\n.*\n> We saw seals\n.*\n> The lamp arrived\n\n\(/);
});

test('what was found for some of the words alone is called the closest', async () => {
  assert.match(
    (await recalling([hit('zebras are striped')], { tier: 'loose' }).made.ask('Are zebras rare?')).text,
    /^Closest in earlier sessions:\n/,
  );
});

test('an answer in a script without spaces is not taken for the question', async () => {
  const { text } = await recalling([hit('今天确认了用户身份校验')]).made.ask('今天确认了什么？');

  assert.match(text, /> 今天确认了用户身份校验/);
});

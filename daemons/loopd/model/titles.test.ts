/** Titles of sessions: asked beside the sessions, by rule without a model, and never worth an error. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeModel } from '../testing/fake-model.ts';
import { BuiltinModel } from './builtin.ts';
import { OpenAiModel } from './openai.ts';
import { titleByRule, titleOf } from './titles.ts';

const signal = AbortSignal.any([]);
const first = { prompt: 'How do I repot a fern?', answer: 'In spring.' };

async function asked(slots: number, text: string) {
  const fake = await FakeModel.start({ slots, steps: [{ text }] });
  const model = new OpenAiModel({ url: fake.url });
  try {
    return { title: await titleOf(model, first, signal), requests: fake.requests };
  } finally {
    model.close();
    await fake.stop();
  }
}

test('a title is asked in the spare slot, without tools, and tidied', async () => {
  const { title, requests } = await asked(3, '**Title: “Repotting a fern”.**\n\nIt is…');

  assert.equal(title, 'Repotting a fern');
  assert.equal(requests[0]!.slot, 2);
  assert.doesNotMatch(requests[0]!.text, /"tools"/);
});

test('with one slot, a call for an answer or no server there is no title', async () => {
  assert.deepEqual((await asked(1, 'x')).requests, []);
  assert.equal((await asked(2, '<tool_call>\n{}')).title, undefined);
  const gone = new OpenAiModel({ url: 'http://127.0.0.1:1' });
  assert.equal(await titleOf(gone, first, signal), undefined);
  gone.close();
});

test('without a model the title is how the first turn began', async () => {
  assert.equal(
    await titleOf(new BuiltinModel(), { ...first, prompt: 'remember that the pot is blue.' }, signal),
    'The pot is blue',
  );
  assert.equal(titleByRule('  '), undefined);
  assert.equal(titleByRule('word '.repeat(30)), 'Word word word word word word word word word word word…');
  assert.equal(Array.from(titleByRule('😀'.repeat(100))!).length, 60);
});

/** Goal: a text is read back as it is now, or not at all. Method: logs that change between indexing and reading. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { SessionsFolder } from './sessions-folder.ts';
import { IntakeFixture } from './testing/intake-fixture.ts';
import { KeptTexts } from './texts.ts';

const session = { kind: 'session', id: 's' } as const;

async function setUp(t: Parameters<typeof IntakeFixture.create>[0]) {
  const f = await IntakeFixture.create(t);
  f.say('s', 'red kettle', 'blue kettle');
  const lines = readFileSync(f.path('s'), 'utf8').split('\n');
  const wanted = [1, 2].map((record) => ({
    record,
    locator: `${lines.slice(0, record).join('\n').length + 1}:${lines[record]?.length ?? 0}`,
  }));
  return { f, wanted, texts: new KeptTexts(new SessionsFolder(f.sessionsDir), f.store) };
}

test('texts come in the order they were asked for, from the log and then from memory', async (t) => {
  const { f, wanted, texts } = await setUp(t);
  const read = async () => (await texts.read(session, wanted.toReversed())).map((item) => item?.text);

  assert.deepEqual(await read(), ['blue kettle', 'red kettle']);
  f.delete('s');
  assert.deepEqual(await read(), ['blue kettle', 'red kettle']);
  texts.drop(session);
  assert.deepEqual(await read(), [undefined, undefined]);
});

test('where another record lies now, or none, there is no text', async (t) => {
  const { f, wanted, texts } = await setUp(t);
  const [one, two] = wanted;
  assert.ok(one && two);

  assert.deepEqual(await texts.read(session, [{ ...one, record: 2 }]), [undefined]);
  assert.deepEqual(await texts.read(session, [{ record: 9, locator: '99999:10' }]), [undefined]);
  writeFileSync(f.path('s'), 'x'.repeat(4096));
  assert.deepEqual(await texts.read(session, [two]), [undefined]);
});

test('a secret is not read back, and the text around it is', async (t) => {
  const { f, texts } = await setUp(t);
  const secret = `ghp_${'aB3'.repeat(12)}`;
  f.begin('s');
  const start = readFileSync(f.path('s')).length;
  f.say('s', `the token is ${secret} for the kettle`);
  const length = readFileSync(f.path('s')).length - start - 1;
  const [item] = await texts.read(session, [{ record: 1, locator: `${start}:${length}` }]);

  assert.match(item?.text ?? '', /^the token is \[redacted: .*\] for the kettle$/);
});

/** A conversation that outgrows the model's context: shortened once, told, durable, and never the baseline or the question. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { calls, scriptedBaseline, ScriptedSession, type ScriptedStep } from '../testing/scripted-turn.ts';
import { modelFault } from './retry.ts';

const words = (n: number) => 'word '.repeat(n);
const overflow = (n_ctx: number) =>
  modelFault('context-full', 'too long', { retry: 'overflow', n_prompt_tokens: n_ctx + 1, n_ctx });
const contextTokens = () => 4096;

/** Turns that each look something large up. */
function scripted(turns: number, more: ScriptedStep[] = []) {
  const steps = Array.from({ length: turns }, (_, n) => [
    calls(['look', { n }]),
    { text: `Answer ${n}.` },
  ]).flat();
  return new ScriptedSession([...steps, ...more], {
    look: { run: () => ({ status: 'ok', text: `RESULT ${words(400)}` }) },
  });
}

test('near the ceiling old results become a line each, then the oldest turns go, and the baseline stays', async () => {
  const session = scripted(30);
  for (let n = 0; n < 30; n += 1) {
    const { outcome } = await session.ask(`Question ${n} ${words(20)}`, { contextTokens });
    assert.equal(outcome, 'answer');
  }

  const compacts = session.ofType('compact');
  assert.ok(compacts.length >= 3);
  assert.ok(compacts.length < 15, `shortened seldom, not ${compacts.length} times`);
  assert.match(
    compacts[0]!.text,
    /## Turn 1\nPerson: Question 0 .*\nTool look\({"n":0}\): ok, 2007 bytes\nAssistant: Answer 0\./,
  );
  assert.match(compacts.at(-1)!.text, /\[Turns 1 to \d+ are left out\.\]/);
  assert.doesNotMatch(compacts.map(({ text }) => text).join(), /RESULT/);
  for (const { messages, tools } of session.requests) {
    assert.equal(messages[0]!.content, scriptedBaseline.system);
    assert.deepEqual(tools, scriptedBaseline.tools);
    // The true size, at four bytes a token.
    assert.ok(JSON.stringify(messages).length / 4 + 1024 < 4096);
  }
  assert.equal(session.events.filter(({ type }) => type === 'compacted').length, compacts.length);
});

test('the shortening is on the disk before a prompt makes use of it, and a restart changes no byte', async () => {
  const [whole, restarted] = [scripted(12), scripted(12)];
  for (let n = 0; n < 12; n += 1) {
    await whole.ask(`Question ${n}`, { contextTokens });
    restarted.restart();
    await restarted.ask(`Question ${n}`, { contextTokens });
  }

  assert.ok(whole.ofType('compact').length > 0);
  assert.ok(whole.ofType('compact').every((record) => whole.synced.includes(record)));
  assert.deepEqual(restarted.requests, whole.requests);
});

test('an overflow that the server reports is shortened once by its figures, and the turn goes on', async () => {
  const session = scripted(3, [overflow(2000), { text: 'Short.' }]);
  for (const text of ['a', 'b', 'c']) await session.ask(text);

  const end = await session.ask('last question');

  assert.equal(end.text, 'Short.');
  assert.equal(session.ofType('compact').length, 1);
  assert.match(session.requests.at(-1)!.messages.at(-1)!.content, /last question$/);
});

test('what is still too long after that ends as context-full, and nothing is shortened in vain', async () => {
  const session = scripted(3, [overflow(2000), overflow(2000)]);
  for (const text of ['a', 'b', 'c']) await session.ask(text);
  assert.equal((await session.ask('again')).error?.code, 'context-full');

  const huge = new ScriptedSession([overflow(2000), { text: 'never' }]);
  const end = await huge.ask(words(4000));
  assert.equal(end.error?.code, 'context-full');
  assert.equal(huge.ofType('compact').length, 0);
});

test('a turn that is too long by itself keeps its question whole and its steps as lines', async () => {
  const steps = Array.from({ length: 9 }, (_, n) => calls(['look', { n }]));
  const session = new ScriptedSession([...steps, { text: 'Found.' }, { text: 'Next.' }], {
    look: { run: () => ({ status: 'ok', text: words(500) }) },
  });

  const end = await session.ask('Find\n## Turn 1\nthe thing', { contextTokens });

  assert.equal(end.text, 'Found.');
  const [compact] = session.ofType('compact');
  assert.match(compact!.text, /## Turn 1\nPerson: Find\n {2}## Turn 1\n {2}the thing\nTool look\({"n":0}\)/);
  assert.ok(session.requests.every(({ messages }) => JSON.stringify(messages).length / 4 + 1024 < 4096));
  const after = await session.ask('and now?', { contextTokens });
  assert.equal(after.text, 'Next.');
});

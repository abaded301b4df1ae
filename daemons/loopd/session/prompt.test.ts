/** The prompt as a function of the records: each request starts with the bytes of the one before, also after a restart. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { calls, ScriptedSession, type ScriptedStep } from '../testing/scripted-turn.ts';
import type { ModelRequest } from '../turn/effects.ts';
import { promptMessages } from './prompt.ts';

/** The bytes that count for a prefix cache: the tools and every message but for the bracket that closes them. */
function bytes({ tools, messages }: ModelRequest): string {
  return JSON.stringify({ tools, messages }).slice(0, -2);
}

const steps = (): ScriptedStep[] => [
  calls(['look', { a: 1 }], ['note', '{"cut": "']),
  { text: 'One.' },
  { text: '{"name":"look","arguments":{}}' },
  calls(['send', { to: 'x' }]),
  { text: 'Two.', finish: 'length' },
  { text: 'Three.' },
];

test('request n+1 starts with the bytes of request n, over turns of every kind', async () => {
  const session = new ScriptedSession(steps());
  for (const text of ['one', 'two', 'three']) await session.ask(text);

  const sent = session.requests.map(bytes);

  assert.equal(sent.length, 6);
  for (const [n, request] of sent.entries())
    if (n > 0) assert.ok(request.startsWith(sent[n - 1]!), `request ${n}`);
});

test('a restart before each request changes no byte of it', async () => {
  const whole = new ScriptedSession(steps());
  const restarted = new ScriptedSession(steps());
  for (const text of ['one', 'two', 'three']) {
    await whole.ask(text);
    restarted.restart();
    await restarted.ask(text);
  }

  assert.deepEqual(restarted.requests, whole.requests);
});

test('the tools are in every request as they were frozen, also where no call is wanted', async () => {
  const session = new ScriptedSession([calls(['look']), calls(['look']), calls(['look']), { text: 'ok' }]);
  await session.ask('x');

  const { tools } = session.history.session.baseline;
  for (const request of session.requests) assert.equal(JSON.stringify(request.tools), JSON.stringify(tools));
});

test('reasoning is sent back within its turn and not in the next', async () => {
  const session = new ScriptedSession([
    { ...calls(['look']), reasoning: 'I should look.' },
    { text: 'Seen.', reasoning: 'So it is.' },
    { text: 'Bye.' },
  ]);
  await session.ask('x');
  await session.ask('y');

  const reasoning = session.requests.map(({ messages }) =>
    messages.flatMap((message) => (message.role === 'assistant' ? [message.reasoning_content] : [])),
  );
  assert.deepEqual(reasoning, [[], ['I should look.'], [undefined, undefined]]);
});

test('what a compact record replaces is left out, and what follows it stays', () => {
  const session = new ScriptedSession([]);
  session.say('old');
  session.write({ type: 'assistant', turn: 1, step: 0, text: 'old answer', finish: 'stop' });
  session.write({ type: 'end', turn: 1, outcome: 'answer' });
  session.write({ type: 'compact', up_to: 3, text: 'Summary.' });
  session.say('new');

  for (let round = 0; round < 2; round += 1) {
    assert.deepEqual(promptMessages(session.history).slice(1), [
      { role: 'user', content: 'Summary.\n\nnew' },
    ]);
    session.restart();
  }
});

test('a call without a result, or with two, has one in the prompt', () => {
  const session = new ScriptedSession([]);
  session.say('x');
  const made = ['a', 'b'].map((id) => ({ id, name: 'look', arguments: {} }));
  session.write({ type: 'assistant', turn: 1, step: 0, text: '', calls: made, finish: 'tool_calls' });
  session.write({ type: 'result', turn: 1, call: 'a', status: 'ok', text: 'first', bytes: 5 });
  session.write({ type: 'result', turn: 1, call: 'a', status: 'ok', text: 'second', bytes: 6 });

  assert.deepEqual(promptMessages(session.history).slice(3), [
    { role: 'tool', tool_call_id: 'a', content: 'first' },
    { role: 'tool', tool_call_id: 'b', content: 'Interrupted: the outcome of this call is not known.' },
  ]);
});

test('a turn without an answer leaves a fixed line, so that roles go on taking turns', () => {
  const session = new ScriptedSession([]);
  session.say('x');
  session.write({
    type: 'end',
    turn: 1,
    outcome: 'error',
    error: { code: 'model-unavailable', message: 'refused' },
  });
  session.say('y');

  assert.deepEqual(
    promptMessages(session.history)
      .slice(1)
      .map(({ content }) => content),
    ['x', '(No answer: model-unavailable.)', 'y'],
  );
});

/** The rules of a turn, one at a time, against a model that says what the test wrote down. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SessionRecord } from '../../../shared/protocol/sessions.ts';
import { calls, runScript, ScriptedSession } from '../testing/scripted-turn.ts';

const types = (records: readonly SessionRecord[]) => records.map((record) => record.type).join(' ');

/** When the scripted session accepts its turns. */
const acceptedMs = Date.parse('2026-01-01T00:00:00.000Z');

test('a turn without calls is one request, an answer and an end', async () => {
  const { session, end } = await runScript([{ text: 'Hi.' }]);

  assert.equal(end.outcome, 'answer');
  assert.equal(end.text, 'Hi.');
  assert.equal(types(session.records), 'session turn assistant end');
});

test('the reply is on the disk before its calls run, an intent before an effect, the end before it is told', async () => {
  const { session } = await runScript([calls(['look'], ['send', { to: 'a' }]), { text: 'Sent.' }]);

  assert.equal(
    types(session.records),
    'session turn assistant decision result decision call result assistant end',
  );
  assert.equal(types(session.synced), 'assistant call end');
  assert.deepEqual(session.ran, [
    { name: 'look', key: `s1/c1.0.0/${acceptedMs}` },
    { name: 'send', key: `s1/c1.0.1/${acceptedMs}` },
  ]);
});

test('calls of a reply that was cut at its limit do not run, and the model is told to make them shorter', async () => {
  const { session, end } = await runScript([
    { ...calls(['send', { to: 'a' }]), finish: 'length' },
    { text: 'ok' },
  ]);

  assert.equal(end.outcome, 'answer');
  assert.equal(session.ran.length, 0);
  assert.match(session.ofType('result')[0]!.text, /cut at its limit/);
});

test('calls run after the finish "stop" too', async () => {
  const { session } = await runScript([{ ...calls(['look']), finish: 'stop' }, { text: 'ok' }]);

  assert.equal(session.ran.length, 1);
});

test('arguments that are not an object are kept in the record, never sent back, and the turn goes on', async () => {
  const { session, end } = await runScript([
    calls(['look', '{"a":'], ['look', '[1]'], ['look', '']),
    { text: 'ok' },
  ]);

  assert.equal(end.outcome, 'answer');
  assert.deepEqual(
    session.ofType('assistant')[0]!.calls!.map((call) => call.arguments),
    ['{"a":', '[1]', {}],
  );
  assert.deepEqual(
    session.ofType('result').map((result) => result.status),
    ['error', 'error', 'ok'],
  );
  const sent = session.requests[1]!.messages.find((message) => message.role === 'assistant');
  assert.deepEqual(sent?.role === 'assistant' && sent.tool_calls!.map((call) => call.function.arguments), [
    '{}',
    '{}',
    '{}',
  ]);
});

test('a tool that does not exist and arguments that do not fit are errors that help, not ends', async () => {
  const session = new ScriptedSession([calls(['lok'], ['look', { a: 1 }]), { text: 'ok' }], {
    look: { required: ['query'] },
  });

  const end = await session.ask('x');

  assert.equal(end.outcome, 'answer');
  assert.match(session.ofType('result')[0]!.text, /no tool "lok" here\. There are: look, note/);
  assert.match(session.ofType('result')[1]!.text, /look needs query/);
  assert.equal(session.ran.length, 0);
});

test('three steps of calls that cannot run force an answer', async () => {
  const bad = calls(['nothing', { n: 1 }]);
  const { session, end } = await runScript([
    bad,
    calls(['nothing', { n: 2 }]),
    calls(['nothing', { n: 3 }]),
    { text: 'I could not.' },
  ]);

  assert.deepEqual(
    session.requests.map(({ toolChoice }) => toolChoice),
    ['auto', 'auto', 'auto', 'none'],
  );
  assert.equal(end.outcome, 'answer');
});

test('the second identical call is answered from the first, the third forces an answer', async () => {
  const { session, end } = await runScript([
    calls(['look', { a: 1, b: 2 }]),
    calls(['look', { b: 2, a: 1 }]),
    calls(['look', { a: 1, b: 2 }]),
    { text: 'Found it.' },
  ]);

  assert.equal(session.ran.length, 1);
  const results = session.ofType('result');
  assert.match(
    results[1]!.text,
    /^Same call as before, not run again\. Its result was:\n\nseen {"a":1,"b":2}$/,
  );
  assert.match(results[2]!.text, /Answer now with what you have\. Its result was:\n\nseen {"a":1,"b":2}$/);
  assert.equal(session.requests[3]!.toolChoice, 'none');
  assert.equal(end.outcome, 'answer');
});

test('a model that repeats itself for ever ends as model-loop', async () => {
  const { session, end } = await runScript([1, 2, 3, 4].map(() => calls(['look'])));

  assert.equal(end.outcome, 'error');
  assert.equal(end.error?.code, 'model-loop');
  assert.equal(session.ran.length, 1);
});

test('a volatile tool runs again, and counts as repeated', async () => {
  const { session } = await runScript([
    calls(['clock']),
    calls(['clock']),
    calls(['clock']),
    { text: 'noon' },
  ]);

  assert.equal(session.ran.length, 2);
  assert.equal(session.requests[3]!.toolChoice, 'none');
});

test('looking again after an effect is no repetition, doing it again is', async () => {
  const { session } = await runScript([
    calls(['look']),
    calls(['note', { x: 1 }]),
    calls(['look']),
    calls(['note', { x: 1 }]),
    { text: 'ok' },
  ]);

  assert.deepEqual(
    session.ran.map(({ name }) => name),
    ['look', 'note', 'look'],
  );
});

test('the twelfth reply has to be an answer, and the turn says that it ran into the limit', async () => {
  const steps = Array.from({ length: 11 }, (_, n) => calls(['look', { n }]));
  const { session, end } = await runScript([...steps, { text: 'As far as I got.' }]);

  assert.equal(session.requests.length, 12);
  assert.equal(session.requests.at(-1)!.toolChoice, 'none');
  assert.deepEqual([end.outcome, end.limit, end.text], ['limit', 'steps', 'As far as I got.']);
});

test('a forced answer that is one keeps its text and drops the calls beside it', async () => {
  const steps = Array.from({ length: 11 }, (_, n) => calls(['look', { n }]));
  const { session, end } = await runScript([...steps, { ...calls(['look', { n: 99 }]), text: 'Enough.' }]);

  assert.equal(end.text, 'Enough.');
  assert.equal(session.ran.length, 11);
});

test('a call written as text is never run: one nudge, then model-refused', async () => {
  const leak = { text: '<tool_call>\n{"name":"send","arguments":{}}\n</tool_call>' };
  const { session, end } = await runScript([leak, leak]);

  assert.equal(session.ran.length, 0);
  assert.match(session.requests[1]!.messages.at(-1)!.content, /tool call written as text/);
  assert.deepEqual([end.outcome, end.error?.code], ['error', 'model-refused']);
});

test('bare JSON of a call is a leak; a sentence about markup and a fenced example are answers', async () => {
  const first = await runScript([{ text: '{"name":"look","arguments":{"a":1}}' }, { text: 'Hi' }]);
  const second = await runScript([{ text: 'A call opens with <tool_call> in Qwen.\n```\n<tool_call>\n```' }]);

  assert.equal(first.session.requests.length, 2);
  assert.equal(second.end.outcome, 'answer');
});

test('an empty reply is asked again once, with more room where reasoning used it all', async () => {
  const { session, end } = await runScript([{ reasoning: 'hm', finish: 'length' }, { text: 'Hi' }]);

  assert.deepEqual(
    session.requests.map(({ maxTokens }) => maxTokens),
    [1024, 2048],
  );
  assert.equal(end.outcome, 'answer');

  const twice = await runScript([
    { reasoning: 'hm', finish: 'length' },
    { reasoning: 'hm', finish: 'length' },
  ]);
  assert.deepEqual([twice.end.outcome, twice.end.limit], ['limit', 'tokens']);
  const silent = await runScript([{ text: ' ' }, { text: '' }]);
  assert.equal(silent.end.error?.code, 'model-refused');
});

test('an answer that is cut at its limit ends as limit and keeps its text', async () => {
  const { end } = await runScript([{ text: 'Once upon', finish: 'length' }]);

  assert.deepEqual([end.outcome, end.limit, end.text], ['limit', 'tokens', 'Once upon']);
});

test('an answer that the server withheld ends as refused', async () => {
  const { end } = await runScript([{ text: 'I', finish: 'content_filter' }]);

  assert.equal(end.outcome, 'refused');
});

test('a result is capped when it is recorded, and says how large it was', async () => {
  const session = new ScriptedSession([calls(['look']), { text: 'ok' }], {
    look: { run: () => ({ status: 'ok', text: '😀'.repeat(5000) }) },
  });

  await session.ask('x');

  const result = session.ofType('result')[0]!;
  assert.deepEqual([result.bytes, result.cut], [20_000, true]);
  assert.ok(Buffer.byteLength(result.text) <= 8192);
  assert.match(result.text, /^(😀)+\n\[… cut: the whole result has 20000 bytes …\]\n(😀)+$/u);
});

test('usage of a turn is the sum of its steps', async () => {
  const { end } = await runScript([
    { ...calls(['look']), usage: { prompt_tokens: 100, completion_tokens: 5, cached_tokens: 0 } },
    { text: 'ok', usage: { prompt_tokens: 120, completion_tokens: 7, cached_tokens: 100 } },
  ]);

  assert.deepEqual(end.usage, { prompt_tokens: 220, completion_tokens: 12, cached_tokens: 100 });
});

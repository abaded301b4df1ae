/** The rules of a turn, one at a time, against a model that says what the test wrote down. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../../../shared/errors.ts';
import type { SessionBody, SessionRecord } from '../../../shared/protocol/sessions.ts';
import { calls, ScriptedSession, type ScriptedStep } from '../testing/scripted-turn.ts';
import { modelFault } from './retry.ts';
import { closeTurn, runTurn } from './turn.ts';

/** Every call has one result, in the records and in each prompt, and nothing that does not parse is sent back. */
function checkHistory({ records, requests }: ScriptedSession) {
  const made = records.flatMap((record) => (record.type === 'assistant' ? (record.calls ?? []) : []));
  for (const { id } of made)
    assert.equal(records.filter((record) => record.type === 'result' && record.call === id).length, 1, id);
  for (const { messages } of requests) {
    const sent = messages.flatMap((message) =>
      message.role === 'assistant' ? (message.tool_calls ?? []) : [],
    );
    for (const call of sent) {
      assert.equal(typeof JSON.parse(call.function.arguments), 'object');
      assert.equal(messages.filter((m) => m.role === 'tool' && m.tool_call_id === call.id).length, 1);
    }
    const roles = messages.map(({ role }) => role).join(' ');
    assert.doesNotMatch(roles, /user user|assistant assistant/);
  }
}

async function run(steps: ScriptedStep[], text = 'hello') {
  const session = new ScriptedSession(steps);
  const end = await session.ask(text);
  checkHistory(session);
  return { session, end };
}

const types = (records: readonly SessionRecord[]) => records.map((record) => record.type).join(' ');

test('a turn without calls is one request, an answer and an end', async () => {
  const { session, end } = await run([{ text: 'Hi.' }]);

  assert.equal(end.outcome, 'answer');
  assert.equal(end.text, 'Hi.');
  assert.equal(types(session.records), 'session turn assistant end');
});

test('the reply is on the disk before its calls run, an intent before an effect, the end before it is told', async () => {
  const { session } = await run([calls(['look'], ['send', { to: 'a' }]), { text: 'Sent.' }]);

  assert.equal(
    types(session.records),
    'session turn assistant decision result decision call result assistant end',
  );
  assert.equal(types(session.synced), 'assistant call end');
  assert.deepEqual(session.ran, [
    { name: 'look', key: 's1/c1.0.0' },
    { name: 'send', key: 's1/c1.0.1' },
  ]);
});

test('calls of a reply that was cut at its limit do not run, and the model is told to make them shorter', async () => {
  const { session, end } = await run([{ ...calls(['send', { to: 'a' }]), finish: 'length' }, { text: 'ok' }]);

  assert.equal(end.outcome, 'answer');
  assert.equal(session.ran.length, 0);
  assert.match(session.ofType('result')[0]!.text, /cut at its limit/);
});

test('calls run after the finish "stop" too', async () => {
  const { session } = await run([{ ...calls(['look']), finish: 'stop' }, { text: 'ok' }]);

  assert.equal(session.ran.length, 1);
});

test('arguments that are not an object are kept in the record, never sent back, and the turn goes on', async () => {
  const { session, end } = await run([
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
  const { session, end } = await run([
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
  const { session, end } = await run([
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
  const { session, end } = await run([1, 2, 3, 4].map(() => calls(['look'])));

  assert.equal(end.outcome, 'error');
  assert.equal(end.error?.code, 'model-loop');
  assert.equal(session.ran.length, 1);
});

test('a volatile tool runs again, and counts as repeated', async () => {
  const { session } = await run([calls(['clock']), calls(['clock']), calls(['clock']), { text: 'noon' }]);

  assert.equal(session.ran.length, 2);
  assert.equal(session.requests[3]!.toolChoice, 'none');
});

test('looking again after an effect is no repetition, doing it again is', async () => {
  const { session } = await run([
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
  const { session, end } = await run([...steps, { text: 'As far as I got.' }]);

  assert.equal(session.requests.length, 12);
  assert.equal(session.requests.at(-1)!.toolChoice, 'none');
  assert.deepEqual([end.outcome, end.limit, end.text], ['limit', 'steps', 'As far as I got.']);
});

test('a forced answer that is one keeps its text and drops the calls beside it', async () => {
  const steps = Array.from({ length: 11 }, (_, n) => calls(['look', { n }]));
  const { session, end } = await run([...steps, { ...calls(['look', { n: 99 }]), text: 'Enough.' }]);

  assert.equal(end.text, 'Enough.');
  assert.equal(session.ran.length, 11);
});

test('a call written as text is never run: one nudge, then model-refused', async () => {
  const leak = { text: '<tool_call>\n{"name":"send","arguments":{}}\n</tool_call>' };
  const { session, end } = await run([leak, leak]);

  assert.equal(session.ran.length, 0);
  assert.match(session.requests[1]!.messages.at(-1)!.content, /tool call written as text/);
  assert.deepEqual([end.outcome, end.error?.code], ['error', 'model-refused']);
});

test('bare JSON of a call is a leak; a sentence about markup and a fenced example are answers', async () => {
  const first = await run([{ text: '{"name":"look","arguments":{"a":1}}' }, { text: 'Hi' }]);
  const second = await run([{ text: 'A call opens with <tool_call> in Qwen.\n```\n<tool_call>\n```' }]);

  assert.equal(first.session.requests.length, 2);
  assert.equal(second.end.outcome, 'answer');
});

test('an empty reply is asked again once, with more room where reasoning used it all', async () => {
  const { session, end } = await run([{ reasoning: 'hm', finish: 'length' }, { text: 'Hi' }]);

  assert.deepEqual(
    session.requests.map(({ maxTokens }) => maxTokens),
    [1024, 2048],
  );
  assert.equal(end.outcome, 'answer');

  const twice = await run([
    { reasoning: 'hm', finish: 'length' },
    { reasoning: 'hm', finish: 'length' },
  ]);
  assert.deepEqual([twice.end.outcome, twice.end.limit], ['limit', 'tokens']);
  const silent = await run([{ text: ' ' }, { text: '' }]);
  assert.equal(silent.end.error?.code, 'model-refused');
});

test('an answer that is cut at its limit ends as limit and keeps its text', async () => {
  const { end } = await run([{ text: 'Once upon', finish: 'length' }]);

  assert.deepEqual([end.outcome, end.limit, end.text], ['limit', 'tokens', 'Once upon']);
});

test('an answer that the server withheld ends as refused', async () => {
  const { end } = await run([{ text: 'I', finish: 'content_filter' }]);

  assert.equal(end.outcome, 'refused');
});

test('a step that broke off is shown as reset, asked again with another seed, and never recorded', async () => {
  const cut = modelFault('model-unavailable', 'the stream was cut', { retry: 'again', shown: 'Half a' });
  const { session, end } = await run([cut, { text: 'Whole.' }]);

  assert.equal(end.text, 'Whole.');
  assert.notEqual(session.requests[0]!.seed, session.requests[1]!.seed);
  assert.deepEqual(session.requests[0]!.messages, session.requests[1]!.messages);
  assert.ok(session.events.some((event) => event.type === 'reset'));
  assert.deepEqual(session.sleeps, [500]);
  assert.equal(session.ofType('assistant').length, 1);
});

test('two retries and no more; faults that stay are not asked again', async () => {
  const cut = modelFault('model-unavailable', 'cut', { retry: 'again' });
  const often = await run([cut, cut, cut]);
  assert.equal(often.session.requests.length, 3);
  assert.equal(often.end.error?.code, 'model-unavailable');

  const refused = await run([modelFault('model-refused', 'HTTP 400', { retry: 'never' })]);
  assert.equal(refused.session.requests.length, 1);
  assert.equal(refused.end.error?.code, 'model-refused');
});

test('a model that loads is waited for within a bound, and no attempt is counted', async () => {
  const loading = modelFault('model-unavailable', 'Loading model', { retry: 'loading' });
  const { session, end } = await run([loading, loading, loading, loading, { text: 'Up.' }]);
  assert.equal(end.outcome, 'answer');
  assert.ok(session.events.some((event) => event.type === 'state' && event.state === 'waiting-model'));

  const never = new ScriptedSession(Array.from({ length: 10 }, () => loading));
  const ended = await never.ask('x', { limits: { loadingMsMax: 3000 } });
  assert.equal(never.requests.length, 4);
  assert.equal(ended.error?.code, 'model-unavailable');
});

test('a denied call did not run, and the model is told so', async () => {
  const session = new ScriptedSession([calls(['send']), { text: 'I may not.' }]);
  session.decide = () => ({ verdict: 'deny', rule: 'send = "deny"' });

  const end = await session.ask('x');

  assert.equal(end.outcome, 'answer');
  assert.equal(session.ran.length, 0);
  assert.deepEqual(
    [session.ofType('decision')[0]!.verdict, session.ofType('result')[0]!.status],
    ['deny', 'denied'],
  );
});

test('a broker that nobody reaches ends the turn, and every call still has its result', async () => {
  const session = new ScriptedSession([calls(['look'], ['send'])]);
  session.decide = () => {
    throw new AppError('broker-unavailable', 'no answer');
  };

  const end = await session.ask('x');

  checkHistory(session);
  assert.equal(end.error?.code, 'broker-unavailable');
  assert.deepEqual(
    session.ofType('result').map((result) => result.status),
    ['cancelled', 'cancelled'],
  );
});

test('cancelling while the model writes ends the turn without a reply', async () => {
  const stop = new AbortController();
  const session = new ScriptedSession([
    (_request, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('aborted')));
        stop.abort();
      }),
    { text: 'Next.' },
  ]);

  const end = await session.ask('x', { signal: stop.signal });
  assert.equal(end.outcome, 'cancelled');
  assert.equal(types(session.records), 'session turn end');

  await session.ask('y');
  checkHistory(session);
});

test('cancelling while a tool runs marks it interrupted if it had effects, and the rest cancelled', async () => {
  const stop = new AbortController();
  const hang = () => new Promise<never>(() => stop.abort());
  const session = new ScriptedSession([calls(['send'], ['look'])], {
    look: {},
    send: { effects: 'once', run: hang },
  });

  const end = await session.ask('x', { signal: stop.signal });

  checkHistory(session);
  assert.equal(end.outcome, 'cancelled');
  assert.deepEqual(
    session.ofType('result').map((result) => result.status),
    ['interrupted', 'cancelled'],
  );
});

test('cancelling while somebody is asked for permission runs nothing', async () => {
  const stop = new AbortController();
  const session = new ScriptedSession([calls(['send'])]);
  session.decide = () => new Promise(() => stop.abort());

  const end = await session.ask('x', { signal: stop.signal });

  assert.equal(end.outcome, 'cancelled');
  assert.deepEqual([session.ran.length, session.ofType('result')[0]!.status], [0, 'cancelled']);
});

test('a tool that throws is an error result with what it said', async () => {
  const session = new ScriptedSession([calls(['look']), { text: 'ok' }], {
    look: {
      run: () => {
        throw new Error('no such table');
      },
    },
  });

  await session.ask('x');

  assert.match(session.ofType('result')[0]!.text, /^look failed: no such table/);
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

test('a turn that a crash broke off goes on where it was, whatever was the last record', async () => {
  const script = () => [calls(['look'], ['note'], ['send']), { text: 'Done.' }];
  const whole = new ScriptedSession(script());
  await whole.ask('x');

  for (let kept = 2; kept < whole.records.length; kept += 1) {
    const records = whole.records.slice(0, kept);
    const session = new ScriptedSession(
      records.some(({ type }) => type === 'assistant') ? script().slice(1) : script(),
    );
    for (const { v: _v, seq: _seq, at: _at, ...body } of records.slice(1)) session.write(body);
    session.restart();

    const end = await session.run();

    checkHistory(session);
    assert.equal(end.outcome, 'answer', `after ${types(records)}`);
    const intended = records.some((record) => record.type === 'call' && record.call === 'c1.0.2');
    assert.equal(session.ran.filter(({ name }) => name === 'send').length, intended ? 0 : 1);
  }
});

test('an effect whose outcome is unknown is interrupted, a keyed one gets its key again', async () => {
  const session = new ScriptedSession([{ text: 'ok' }]);
  session.say('x');
  session.write({
    type: 'assistant',
    turn: 1,
    step: 0,
    text: '',
    calls: [
      { id: 'c1.0.0', name: 'note', arguments: {} },
      { id: 'c1.0.1', name: 'send', arguments: {} },
    ],
    finish: 'tool_calls',
  });
  session.write({ type: 'call', turn: 1, call: 'c1.0.0', key: 's1/c1.0.0' });
  session.write({ type: 'call', turn: 1, call: 'c1.0.1', key: 's1/c1.0.1' });
  session.restart();

  await session.run();

  assert.deepEqual(session.ran, [{ name: 'note', key: 's1/c1.0.0' }]);
  assert.deepEqual(
    session.ofType('result').map((result) => result.status),
    ['ok', 'interrupted'],
  );
  assert.match(session.requests[0]!.messages.at(-1)!.content, /It was not repeated/);
});

test('a turn whose end could not be written is thrown, and closed before the next one', async () => {
  const session = new ScriptedSession([calls(['look'], ['send']), { text: 'Next.' }]);
  session.say('x');
  const append: typeof session.effects.append = (...record) => session.effects.append(...record);
  let written = 0;
  const failing = {
    ...session.effects,
    append: (body: SessionBody, options: { sync: boolean }) =>
      (written += 1) > 5 ? Promise.reject(new AppError('store-full', 'no space')) : append(body, options),
  };

  const running = runTurn(session.history, { effects: failing, signal: AbortSignal.any([]) });
  await assert.rejects(running, { code: 'store-full' });
  const end = await closeTurn(session.history, session.effects, { code: 'store-full', message: 'no space' });

  checkHistory(session);
  assert.equal(end.error?.code, 'store-full');
  assert.deepEqual(
    session.ofType('result').map((result) => result.status),
    ['ok', 'interrupted'],
  );
});

test('usage of a turn is the sum of its steps', async () => {
  const { end } = await run([
    { ...calls(['look']), usage: { prompt_tokens: 100, completion_tokens: 5, cached_tokens: 0 } },
    { text: 'ok', usage: { prompt_tokens: 120, completion_tokens: 7, cached_tokens: 100 } },
  ]);

  assert.deepEqual(end.usage, { prompt_tokens: 220, completion_tokens: 12, cached_tokens: 100 });
});

test('a server that read less than the prompt has cut it, and its reply is not believed', async () => {
  const { session, end } = await run([
    { ...calls(['look']), usage: { prompt_tokens: 100 } },
    { text: 'ok', usage: { prompt_tokens: 60 } },
  ]);

  assert.equal(end.error?.code, 'model-refused');
  assert.match(
    end.error?.message ?? '',
    /read 60 tokens of a prompt that has at least 10\d: it cut the beginning off/,
  );
  assert.equal(session.ofType('assistant').length, 1);
});

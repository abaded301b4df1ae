/** What can go wrong beside the model's words: servers, brokers, tools and people who cancel. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../../../shared/errors.ts';
import type { SessionRecord } from '../../../shared/protocol/sessions.ts';
import { calls, checkHistory, runScript, ScriptedSession } from '../testing/scripted-turn.ts';
import { modelFault } from './retry.ts';

const types = (records: readonly SessionRecord[]) => records.map((record) => record.type).join(' ');

test('a step that broke off is shown as reset, asked again with another seed, and never recorded', async () => {
  const cut = modelFault('model-unavailable', 'the stream was cut', { retry: 'again', shown: 'Half a' });
  const { session, end } = await runScript([cut, { text: 'Whole.' }]);

  assert.equal(end.text, 'Whole.');
  assert.notEqual(session.requests[0]!.seed, session.requests[1]!.seed);
  assert.deepEqual(session.requests[0]!.messages, session.requests[1]!.messages);
  assert.ok(session.events.some((event) => event.type === 'reset'));
  assert.deepEqual(session.sleeps, [500]);
  assert.equal(session.ofType('assistant').length, 1);
});

test('two retries and no more; faults that stay are not asked again', async () => {
  const cut = modelFault('model-unavailable', 'cut', { retry: 'again' });
  const often = await runScript([cut, cut, cut]);
  assert.equal(often.session.requests.length, 3);
  assert.equal(often.end.error?.code, 'model-unavailable');

  const refused = await runScript([modelFault('model-refused', 'HTTP 400', { retry: 'never' })]);
  assert.equal(refused.session.requests.length, 1);
  assert.equal(refused.end.error?.code, 'model-refused');
});

test('a model that loads is waited for within a bound, and no attempt is counted', async () => {
  const loading = modelFault('model-unavailable', 'Loading model', { retry: 'loading' });
  const { session, end } = await runScript([loading, loading, loading, loading, { text: 'Up.' }]);
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

test('a server that read less than the prompt has cut it, and its reply is not believed', async () => {
  const { session, end } = await runScript([
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

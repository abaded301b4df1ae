/** The turn loop against a real llama-server where LLAMA_SERVER names one (`LLAMA_SERVER=http://127.0.0.1:8080`), else against the fake: what no model can get wrong. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { serverBaseline, ServerSessions } from '../testing/server-session.ts';

let server: ServerSessions;
before(async () => {
  server = await ServerSessions.start({ mayBeReal: true, slots: 3, contextTokens: 16_000 });
});
after(() => server.stop());

const ended = ['answer', 'limit', 'error'];
const limits = { maxTokens: 64, stepsMax: 3 };

test('turns end in a named way, and the server takes each history again', async () => {
  for (const text of ['What time is it?', 'Where is item 7?', 'Thanks.']) {
    const end = await server.ask(text, { id: 'a', limits });
    assert.ok(ended.includes(end.outcome), end.outcome);
    if (end.error) assert.match(end.error.code, /^model-(?:refused|loop)$/);
  }
});

test('the baseline comes from the cache on every later request, after a restart too', async () => {
  const first = (await server.session('a')).history.records.find((record) => record.type === 'assistant');
  const firstTokens = first?.type === 'assistant' ? (first.usage?.prompt_tokens ?? 0) : 0;
  await server.restart();
  await server.ask('And item 8?', { id: 'a', limits });

  const { records } = (await server.session('a')).history;
  const cached = records.flatMap((record) =>
    record.type === 'assistant' ? [record.usage?.cached_tokens ?? 0] : [],
  );
  // Of the first prompt all but its last message is the baseline.
  const lastMessageTokens = 24;
  for (const tokens of cached.slice(1))
    assert.ok(tokens >= firstTokens - lastMessageTokens, `${tokens} of ${firstTokens}`);
});

test('a request that was cancelled leaves a server that answers the next', async () => {
  const stop = new AbortController();
  const asked = server.ask('Count to one hundred.', { id: 'b', signal: stop.signal, limits });
  stop.abort();
  assert.equal((await asked).outcome, 'cancelled');

  const end = await server.ask('Hello.', { id: 'b', limits });
  assert.ok(ended.includes(end.outcome));
});

test('a history that the server would refuse for ever is never sent', async () => {
  const session = await server.session('c');
  await session.accept({ text: 'x' });
  const turn = 1;
  const calls = [{ id: 'c1.0.0', name: 'look', arguments: '{"query": "ha' }];
  await session.append(
    { type: 'assistant', turn, step: 0, text: '', calls, finish: 'length' },
    { sync: true },
  );
  await session.append(
    { type: 'result', turn, call: 'c1.0.0', status: 'error', text: 'Not run.', bytes: 8 },
    { sync: false },
  );
  await session.append({ type: 'end', turn, outcome: 'cancelled' }, { sync: true });

  const end = await server.ask('And now?', { id: 'c', limits });

  assert.ok(ended.includes(end.outcome));
  if (end.error) assert.notEqual(end.error.code, 'model-unavailable');
});

test('what the server says of itself is understood', async () => {
  const { state, slots, contextTokens } = await server.model.health(AbortSignal.any([]));

  assert.equal(state, 'ready');
  assert.ok(slots! >= 1 && contextTokens! > serverBaseline.tokens);
});

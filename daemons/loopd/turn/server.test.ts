/** The turn loop on real files against a model server that misbehaves as servers and models do. */
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import type { FakeModelOptions } from '../testing/fake-model.ts';
import type { FakeStep } from '../testing/fake-step.ts';
import { serverBaseline, ServerSessions } from '../testing/server-session.ts';
import { renderPrompt, tokensOf } from '../testing/fake-template.ts';

let started: ServerSessions | undefined;
afterEach(async () => {
  await started?.stop();
  started = undefined;
});

async function start(options: FakeModelOptions = {}) {
  started = await ServerSessions.start({ contextTokens: 16_000, ...options });
  return { server: started, fake: started.fake! };
}

const call = (name: string, args = '{}') => ({ name, arguments: args });

test('the baseline is served from the cache from the second request on, over sessions and restarts', async () => {
  const { server, fake } = await start({ slots: 3 });
  const baselineTokens = tokensOf(
    renderPrompt([{ role: 'system', content: serverBaseline.system }], serverBaseline.tools),
  );
  for (let round = 0; round < 3; round += 1) {
    for (const id of ['a', 'b']) {
      fake.push(
        { reasoning: 'I should look.', calls: [call('look', `{"query":"${round}"}`), call('look', '{"a":')] },
        { text: `Answer ${round}.` },
      );
      assert.equal((await server.ask(`Question ${round}`, { id })).outcome, 'answer');
    }
    await server.restart();
  }

  assert.equal(fake.requests.length, 12);
  const later = fake.requests.filter((_, n) => n !== 0 && n !== 2);
  for (const { cachedTokens } of later)
    assert.ok(cachedTokens! >= baselineTokens * 0.99, `${cachedTokens} of ${baselineTokens}`);
  assert.equal(fake.paths.get('/slots'), undefined);
});

test('every misbehaviour ends in a named way, and the server takes the history again', async () => {
  const cases: [FakeStep[], string][] = [
    [[{ calls: [call('look', '{"cut": "ha')] }, { text: 'ok' }], 'answer'],
    [[{ calls: [call('look', '{"path":"a"}{"path":"b"}')] }, { text: 'ok' }], 'answer'],
    [[{ calls: [call('look')], finish: 'length' }, { text: 'ok' }], 'answer'],
    [[{ calls: [{ ...call('look'), id: null }], finish: 'stop' }, { text: 'ok' }], 'answer'],
    [[{ text: '<tool_call>\n{"name":"send","arguments":{}}\n</tool_call>' }, { text: 'ok' }], 'answer'],
    [[{ reasoning: 'Hm.' }, { text: 'ok' }], 'answer'],
    [[{ text: '' }, { text: ' ' }], 'model-refused'],
    [[{ text: 'Half', fault: 'fin' }, { text: 'ok' }], 'answer'],
    [[{ text: 'Half', fault: 'error-event' }, { text: 'ok' }], 'answer'],
    [[1, 2, 3].map(() => ({ text: 'Half', fault: 'clean-end' })), 'model-unavailable'],
    [
      [{ status: 500, error: { code: 500, message: 'failed to load model', type: 'server_error' } }],
      'model-unavailable',
    ],
    [[{ status: 400, error: { code: 400, message: 'no', type: 'invalid_request_error' } }], 'model-refused'],
    [[1, 2, 3, 4].map(() => ({ calls: [call('look')] })), 'model-loop'],
    [[1, 2, 3, 4].map(() => ({ calls: [call('clock')], ignoresNone: true })), 'model-loop'],
    [[{ text: 'I', finish: 'content_filter' }], 'refused'],
    [[{ text: 'word '.repeat(2000) }], 'limit'],
  ];
  const { server, fake } = await start({ contextTokens: 200_000 });
  for (const [steps, expected] of cases) {
    fake.push(...steps);
    const before = fake.requests.length;
    const end = await server.ask('next');
    assert.equal(
      end.error?.code === undefined || end.outcome === 'refused' ? end.outcome : end.error.code,
      expected,
      JSON.stringify(steps),
    );
    assert.equal(fake.requests.length - before, steps.length, JSON.stringify(steps));
  }
  assert.ok(!server.ran.includes('send'));
});

test('a model that is loading is waited for, also in the middle of a turn', async () => {
  const { server, fake } = await start({ loadingRequests: 3 });
  assert.equal((await server.ask('x')).outcome, 'answer');
  fake.load(2);
  assert.equal((await server.ask('y')).outcome, 'answer');
  assert.ok(server.events.some((event) => event.type === 'state' && event.state === 'waiting-model'));
});

test('a conversation that outgrows the context goes on, with its baseline from the cache', async () => {
  const { server, fake } = await start({ contextTokens: 3500 });
  for (let n = 0; n < 30; n += 1) {
    fake.push({ calls: [call('look', `{"query":"${n}"}`)] }, { text: `Answer ${n}: ${'word '.repeat(40)}` });
    assert.equal(
      (await server.ask(`Question ${n}`, { limits: { maxTokens: 256 } })).outcome,
      'answer',
      `turn ${n}`,
    );
  }

  assert.ok(server.events.some(({ type }) => type === 'compacted'));
  assert.ok(
    fake.requests.every(({ status }) => status === 200),
    'shortened before the server had to refuse',
  );
  const baselineTokens = tokensOf(serverBaseline.system);
  for (const { cachedTokens } of fake.requests.slice(1)) assert.ok(cachedTokens! > baselineTokens);
});

test('an overflow that only the server knew of is shortened by its figures', async () => {
  const { server, fake } = await start();
  for (let n = 0; n < 4; n += 1) await server.ask(`Question ${n} ${'word '.repeat(300)}`);
  fake.push({ promptTokens: 17_000 }, { text: 'Went on.' });

  const end = await server.ask('last');

  assert.equal(end.text, 'Went on.');
  assert.equal(server.events.filter(({ type }) => type === 'compacted').length, 1);
});

test('cancelling closes the request, frees the slot and leaves a session that goes on', async () => {
  const { server, fake } = await start();
  fake.push({ text: 'A long answer that is being written', hold: 'middle' });
  const stop = new AbortController();
  const asked = server.ask('x', { signal: stop.signal });
  while (!server.events.some(({ type }) => type === 'text'))
    await new Promise((resolve) => setTimeout(resolve, 2));
  stop.abort();

  assert.equal((await asked).outcome, 'cancelled');
  while (!fake.requests[0]!.isCutByClient) await new Promise((resolve) => setTimeout(resolve, 2));
  assert.equal((await server.ask('y')).outcome, 'answer');
});

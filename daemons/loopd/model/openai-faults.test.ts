/** The client of a model server when something breaks: streams, connections, limits, and people who cancel. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeModel } from '../testing/fake-model.ts';
import type { Fault } from '../testing/fake-step.ts';
import { cleanups, startModel, until } from '../testing/model-lab.ts';
import { OpenAiModel } from './openai.ts';

test('a reply without a finish is no reply, however the connection ended', async () => {
  const { fake, ask, deltas } = await startModel();
  const faults: Fault[] = ['fin', 'clean-end', 'reset'];
  for (const fault of faults) {
    fake.push({ text: 'Half a sentence', fault });
    await assert.rejects(ask(), (error: { code: string; details: { retry: string } }) => {
      assert.deepEqual([error.code, error.details.retry], ['model-unavailable', 'again'], fault);
      return true;
    });
  }
  assert.ok(deltas.some(({ type }) => type === 'text'));
});

test('output that the server cannot parse is an error that may be asked again, also after text', async () => {
  const { fake, ask } = await startModel();
  fake.push({ text: 'Well', fault: 'error-event' });

  await assert.rejects(ask(), { code: 'model-refused', details: { status: 500, retry: 'again' } });
});

test('cancelling closes the request at once, while it waits, reads and writes', async () => {
  const { fake, ask, deltas } = await startModel();
  for (const hold of ['headers', 'data', 'middle'] as const) {
    fake.push({ text: 'A longer text that is written in pieces', hold });
    const stop = new AbortController();
    const asked = ask({}, { signal: stop.signal });
    const request = await until(() =>
      fake.requests.at(-1)?.isCutByClient === false ? fake.requests.at(-1) : undefined,
    );
    if (hold === 'middle') await until(() => deltas.find(({ type }) => type === 'text'));
    stop.abort();
    await assert.rejects(asked, { message: 'the request was cancelled' });
    await until(() => request.isCutByClient || undefined);
  }
});

test('each phase has its own limit, and only a connection that was not made is tried again', async () => {
  const { fake, ask } = await startModel({}, { limits: { queuedMs: 40, idleMs: 40, totalMs: 90 } });
  const expected: [Fault | undefined, string][] = [
    ['silence-before-headers', 'queued'],
    ['silence-after-headers', 'idle'],
    [undefined, 'total'],
  ];
  for (const [fault, phase] of expected) {
    fake.push(fault ? { fault } : { text: 'word '.repeat(100), delayMs: 10 });
    await assert.rejects(ask(), (error: { details: { phase: string; retry: string } }) => {
      assert.deepEqual([error.details.phase, error.details.retry], [phase, 'never']);
      return true;
    });
  }
});

test('a server that is not there, and one that loads, are told apart', async () => {
  const { fake, ask, model } = await startModel();
  fake.load(2);
  await assert.rejects(ask(), { code: 'model-unavailable', details: { status: 503, retry: 'loading' } });
  assert.equal((await model.health(AbortSignal.any([]))).state, 'loading');
  assert.equal((await ask()).text, 'ok');
  assert.deepEqual(await model.health(AbortSignal.any([])), {
    state: 'ready',
    contextTokens: 8192,
    slots: 1,
    warnings: [],
  });

  await fake.stop();
  await assert.rejects(ask(), (error: { code: string; details: Record<string, unknown> }) => {
    assert.deepEqual([error.code, error.details['retry']], ['model-unavailable', 'again']);
    return true;
  });
  assert.equal((await model.health(AbortSignal.any([]))).state, 'unreachable');
  cleanups.shift();
});

test('a kept connection that the server closed meanwhile is replaced without a word', async () => {
  const { fake, ask } = await startModel();
  await ask();
  fake.push({ fault: 'reset-before-headers' }, { text: 'again' });

  assert.equal((await ask()).text, 'again');
  assert.equal(fake.requests.length, 3);
});

test('a url that is none is refused by name before anything is asked', () => {
  const codes: [string, string][] = [
    ['127.0.0.1:8080', 'config-invalid'],
    ['ftp://host', 'config-invalid'],
    ['unix:relative', 'config-invalid'],
    [`unix:/${'x'.repeat(107)}`, 'socket-path-too-long'],
  ];
  for (const [url, code] of codes) assert.throws(() => new OpenAiModel({ url }), { code });
});

test('a server that was replaced by one with more slots is looked at again after the fault', async () => {
  const first = await startModel({ slots: 1 });
  const port = Number(new URL(first.fake.url).port);
  await first.ask();
  await first.fake.stop();
  await assert.rejects(first.ask());

  const second = await FakeModel.start({ listen: port, slots: 3, contextTokens: 4096 });
  cleanups[0] = () => second.stop();
  await first.ask();

  assert.equal(first.model.contextTokens(), 4096);
});

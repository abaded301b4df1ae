/** Golden answers of a real llama-server, through the whole client: what was recorded, and what is made of it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Playback, readTranscript } from '../testing/transcript.ts';
import type { ModelDelta, ModelReply } from '../turn/effects.ts';
import { OpenAiModel } from './openai.ts';

async function play(name: string): Promise<{ reply?: ModelReply; error?: unknown; deltas: ModelDelta[] }> {
  const playback = await Playback.start(await readTranscript(name));
  const model = new OpenAiModel({ url: playback.url });
  const deltas: ModelDelta[] = [];
  try {
    const reply = await model.ask(
      { messages: [{ role: 'user', content: 'x' }], tools: [], toolChoice: 'auto', maxTokens: 10, seed: 1 },
      { session: 's', onDelta: (delta) => deltas.push(delta), signal: AbortSignal.any([]) },
    );
    return { reply, deltas };
  } catch (error) {
    return { error, deltas };
  } finally {
    model.close();
    playback.stop();
  }
}

const call = (args: string) => [{ name: 'clock', arguments: args }];

test('reasoning and a call, streamed and not, are the same reply', async () => {
  const { reply, deltas } = await play('clock-stream');

  assert.deepEqual(reply, {
    text: '',
    reasoning: 'Need the time.\n',
    calls: call('{}'),
    finish: 'tool_calls',
    usage: { prompt_tokens: 1096, completion_tokens: 28, cached_tokens: 0 },
  });
  assert.equal(deltas.filter(({ type }) => type === 'thought').length, 4);
  const { reply: whole } = await play('clock-nonstream');
  assert.deepEqual(whole, {
    ...reply,
    usage: { prompt_tokens: 1096, completion_tokens: 28, cached_tokens: 1095 },
  });
});

test('four parallel calls in small pieces are four calls, and a reply that ended at its limit says so', async () => {
  const { reply } = await play('parallel-stream');

  assert.deepEqual(
    reply?.calls.map(({ name, arguments: args }) => [name, JSON.parse(args)]),
    [
      ['clock', {}],
      ['recall', { query: '.$бит keysStudiesᡴ' }],
      ['clock', {}],
      ['recall', { query: '' }],
    ],
  );
  assert.equal(reply?.finish, 'length');
});

test('a call that was cut at the limit keeps its cut arguments', async () => {
  const { reply } = await play('clock-length18');

  assert.deepEqual([reply?.finish, reply?.calls], ['length', call('{')]);
});

test('a call in the wrong format stays text', async () => {
  const { reply } = await play('chat-stream-think-toolcall');

  assert.match(reply!.text, /^<tool_call>\{"name":"/);
  assert.deepEqual([reply!.calls, reply!.finish], [[], 'stop']);
});

test('without usage the timings count', async () => {
  const { reply } = await play('chat-stream-text-no-usage');

  assert.deepEqual(reply?.usage, { prompt_tokens: 1099, completion_tokens: 20, cached_tokens: 1098 });
});

test('pings are passed over and progress is told', async () => {
  const { reply, deltas } = await play('prefill-progress-stream');

  assert.deepEqual(
    deltas.filter((delta) => delta.type === 'state' && delta.total),
    [
      { type: 'state', state: 'reading', done: 1853, total: 2354 },
      { type: 'state', state: 'reading', done: 2354, total: 2354 },
    ],
  );
  assert.equal(reply?.usage.cached_tokens, 1853);
});

test('a reply that was not streamed keeps characters of many bytes', async () => {
  const { reply } = await play('t-max-predict-4');

  assert.match(reply!.text, /问我✨.*ꦲattery_plots/);
  assert.equal(reply!.finish, 'length');
});

test('errors are told apart by their fields', async () => {
  const errors = {
    'err-context-overflow-stream': {
      code: 'context-full',
      details: { retry: 'overflow', n_prompt_tokens: 10091, n_ctx: 8192 },
    },
    'err-history-invalid-arguments': { code: 'model-refused', details: { retry: 'never', status: 500 } },
    'err-bad-json': { code: 'model-refused', details: { retry: 'never', status: 500 } },
    'loading-0': { code: 'model-unavailable', details: { retry: 'loading' } },
    'unix-no-key': { code: 'model-refused', details: { retry: 'never', status: 401 } },
    'context-full-stream-1': { code: 'model-refused', details: { retry: 'again', status: 500 } },
    'server-sigkill-mid-stream': { code: 'model-unavailable', details: { retry: 'again' } },
  };
  for (const [name, { code, details }] of Object.entries(errors)) {
    const { error } = await play(name);
    const told = error as { code: string; details: Record<string, unknown> };
    assert.equal(told.code, code, name);
    assert.deepEqual({ ...told.details, ...details }, told.details, name);
  }
});

test('text that was shown before a stream broke off is no reply', async () => {
  for (const name of ['server-sigkill-mid-stream', 'context-full-stream-1']) {
    const { reply, deltas } = await play(name);
    assert.ok(deltas.some(({ type }) => type === 'text'));
    assert.equal(reply, undefined);
  }
});

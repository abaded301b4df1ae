/** The client of a model server against the fake one: framing, faults, slots, cache, limits and cancelling. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import { FakeModel, type FakeModelOptions } from '../testing/fake-model.ts';
import type { Fault, Framing } from '../testing/fake-step.ts';
import { scriptedBaseline } from '../testing/scripted-turn.ts';
import type { ModelDelta, ModelMessage, ModelRequest } from '../turn/effects.ts';
import { OpenAiModel, type OpenAiOptions } from './openai.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function start(options: FakeModelOptions = {}, client: Partial<OpenAiOptions> = {}) {
  const fake = await FakeModel.start(options);
  cleanups.push(() => fake.stop());
  const model = new OpenAiModel({ url: fake.url, ...client });
  cleanups.push(() => model.close());
  const deltas: ModelDelta[] = [];
  const ask = (request: Partial<ModelRequest> = {}, { session = 's', signal = AbortSignal.any([]) } = {}) =>
    model.ask(
      {
        messages: [
          { role: 'system', content: scriptedBaseline.system },
          { role: 'user', content: 'Hello' },
        ],
        tools: scriptedBaseline.tools,
        toolChoice: 'auto',
        maxTokens: 1000,
        seed: 7,
        ...request,
      },
      { session, onDelta: (delta) => deltas.push(delta), signal },
    );
  return { fake, model, ask, deltas };
}

const talk = (...said: string[]): ModelMessage[] => [
  { role: 'system', content: scriptedBaseline.system.repeat(20) },
  ...said.map((content, at): ModelMessage => ({ role: at % 2 ? 'assistant' : 'user', content })),
];

test('a reply is the same however its bytes are cut', async () => {
  const { fake, ask } = await start();
  const framings: Framing[] = ['event', 'all', 'byte', 'crlf', 'no-space'];
  for (const framing of framings) {
    fake.push({
      text: 'Grüße, 北京 😀!',
      reasoning: 'Hmm…',
      calls: [
        { name: 'look', arguments: '{"a": "ä", "n": 1}' },
        { name: 'clock', arguments: '{}' },
      ],
      framing,
      pings: 2,
    });
    const { usage, ...reply } = await ask();
    assert.deepEqual(reply, {
      text: 'Grüße, 北京 😀!',
      reasoning: 'Hmm…',
      calls: [
        { name: 'look', arguments: '{"a": "ä", "n": 1}' },
        { name: 'clock', arguments: '{}' },
      ],
      finish: 'tool_calls',
    });
    assert.ok(usage.prompt_tokens! > 100);
  }
});

test('calls are put together by id, else by index, else by the latest', async () => {
  const { fake, ask } = await start();
  const [a, b] = ['{"query": "one"}', '{"query": "two"}'];
  for (const [first, second] of [
    [{ index: 0 }, { index: 0 }],
    [
      { index: null, id: null },
      { index: null, id: null },
    ],
    [
      { index: 0, id: null },
      { index: 1, id: null },
    ],
    [
      { index: 0, id: '' },
      { index: 0, id: '' },
    ],
    [{ index: null }, { index: null }],
  ]) {
    fake.push({
      calls: [
        { name: 'look', arguments: a, ...first },
        { name: 'look', arguments: b, ...second },
      ],
    });
    const { calls } = await ask();
    assert.deepEqual(
      calls.map((call) => call.arguments),
      [a, b],
      JSON.stringify([first, second]),
    );
  }
});

test('a reply without a finish is no reply, however the connection ended', async () => {
  const { fake, ask, deltas } = await start();
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
  const { fake, ask } = await start();
  fake.push({ text: 'Well', fault: 'error-event' });

  await assert.rejects(ask(), { code: 'model-refused', details: { status: 500, retry: 'again' } });
});

test('the request has what the server needs, the tools before the messages, and a limit of tokens always', async () => {
  const { fake, ask } = await start({ slots: 3 }, { name: 'qwen', temperature: 0.2 });
  await ask({ toolChoice: 'none' });

  const {
    messages,
    tools,
    t_max_predict_ms: limit,
    ...rest
  } = JSON.parse(fake.requests[0]!.text) as Record<string, unknown>;
  assert.equal((messages as unknown[]).length, 2);
  assert.deepEqual(tools, scriptedBaseline.tools);
  assert.ok(Number(limit) > 0);
  assert.deepEqual(rest, {
    model: 'qwen',
    tool_choice: 'none',
    max_tokens: 1000,
    seed: 7,
    temperature: 0.2,
    stream: true,
    stream_options: { include_usage: true },
    id_slot: 0,
    cache_prompt: true,
    return_progress: true,
  });
  assert.match(fake.requests[0]!.text, /^\{"model":"qwen","tools":.*"messages":/);
});

test('a server that is none of llama.cpp gets the shared protocol alone', async () => {
  const { fake, ask, model } = await start({ isLlama: false });
  await ask({
    messages: [
      { role: 'user', content: 'x' },
      { role: 'assistant', content: '', reasoning_content: 'hm' },
    ],
  });

  assert.deepEqual(Object.keys(JSON.parse(fake.requests[0]!.text) as object).toSorted(), [
    'max_tokens',
    'messages',
    'model',
    'seed',
    'stream',
    'stream_options',
    'tool_choice',
    'tools',
  ]);
  assert.doesNotMatch(fake.requests[0]!.text, /reasoning/);
  assert.equal(
    await model.aside(
      { messages: talk('x'), tools: [], toolChoice: 'none', maxTokens: 9, seed: 1 },
      AbortSignal.any([]),
    ),
    undefined,
  );
});

test('alternating sessions and side requests all keep their prompts in the cache', async () => {
  const { fake, ask, model } = await start({ slots: 3, contextTokens: 20_000 });
  const said: Record<string, string[]> = { a: [], b: [] };
  for (let round = 0; round < 4; round += 1) {
    for (const session of ['a', 'b']) {
      said[session]!.push(`question ${round} of ${session}`);
      const { text } = await ask({ messages: talk(...said[session]!) }, { session });
      said[session]!.push(text);
      const title = await model.aside(
        { messages: talk('Title?'), tools: [], toolChoice: 'none', maxTokens: 9, seed: 1 },
        AbortSignal.any([]),
      );
      assert.equal(title?.text, 'ok');
    }
  }

  const chats = fake.requests.filter(({ slot }) => slot !== 2);
  assert.deepEqual([...new Set(chats.map(({ slot }) => slot))], [0, 1]);
  for (const { cachedTokens, promptTokens } of chats.slice(2))
    assert.ok(cachedTokens! / promptTokens! > 0.95);
  assert.equal(fake.paths.get('/slots'), undefined);
  assert.equal(fake.paths.get('/props'), 1);
});

test('with one slot there is no room for side requests', async () => {
  const { fake, model } = await start({ slots: 1 });

  const reply = await model.aside(
    { messages: talk('x'), tools: [], toolChoice: 'none', maxTokens: 9, seed: 1 },
    AbortSignal.any([]),
  );

  assert.deepEqual([reply, fake.requests.length], [undefined, 0]);
});

test('cancelling closes the request at once, while it waits, reads and writes', async () => {
  const { fake, ask, deltas } = await start();
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
  const { fake, ask } = await start({}, { limits: { queuedMs: 40, idleMs: 40, totalMs: 90 } });
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
  const { fake, ask, model } = await start();
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
  const { fake, ask } = await start();
  await ask();
  fake.push({ fault: 'reset-before-headers' }, { text: 'again' });

  assert.equal((await ask()).text, 'again');
  assert.equal(fake.requests.length, 3);
});

test('a Unix socket and a key work like TCP without', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'model-'));
  cleanups.push(() => rm(folder, { recursive: true }));
  const { fake, ask, model } = await start(
    { listen: join(folder, 'llama.sock'), apiKey: 'k1' },
    { apiKey: 'k1' },
  );

  assert.match(fake.url, /^unix:\//);
  assert.equal((await ask()).text, 'ok');
  assert.equal(model.name, 'models/fake.gguf');
  const wrong = new OpenAiModel({ url: fake.url, apiKey: 'k2' });
  cleanups.push(() => wrong.close());
  const asked = wrong.ask(
    { messages: [], tools: [], toolChoice: 'auto', maxTokens: 1, seed: 1 },
    { session: 's', onDelta: () => {}, signal: AbortSignal.any([]) },
  );
  await assert.rejects(asked, { code: 'model-refused', details: { status: 401, retry: 'never' } });
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

test('usage of zero is taken from the timings, and no usage is estimated', async () => {
  const { fake, ask } = await start();
  fake.push({ text: 'Some words here.', usage: 'zero' }, { text: 'Some words here.', usage: 'none' });

  const counted = (await ask()).usage;
  const estimated = (await ask()).usage;

  assert.equal(counted.completion_tokens, 4);
  assert.ok(counted.prompt_tokens! > 100);
  assert.equal(estimated.prompt_tokens, undefined);
  assert.ok(estimated.completion_tokens! >= 4);
});

test('a server that was replaced by one with more slots is looked at again after the fault', async () => {
  const first = await start({ slots: 1 });
  const port = Number(new URL(first.fake.url).port);
  await first.ask();
  await first.fake.stop();
  await assert.rejects(first.ask());

  const second = await FakeModel.start({ listen: port, slots: 3, contextTokens: 4096 });
  cleanups[0] = () => second.stop();
  await first.ask();

  assert.equal(first.model.contextTokens(), 4096);
});

async function until<T>(find: () => T | undefined): Promise<T> {
  for (let tries = 0; tries < 1000; tries += 1) {
    const found = find();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  throw new Error('waited in vain');
}

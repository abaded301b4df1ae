/** The client of a model server against the fake one: framing, fields, slots, cache and counts. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Framing } from '../testing/fake-step.ts';
import { cleanups, startModel } from '../testing/model-lab.ts';
import { scriptedBaseline } from '../testing/scripted-turn.ts';
import type { ModelMessage } from '../turn/effects.ts';
import { OpenAiModel } from './openai.ts';

const talk = (...said: string[]): ModelMessage[] => [
  { role: 'system', content: scriptedBaseline.system.repeat(20) },
  ...said.map((content, at): ModelMessage => ({ role: at % 2 ? 'assistant' : 'user', content })),
];

test('a reply is the same however its bytes are cut', async () => {
  const { fake, ask } = await startModel();
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
  const { fake, ask } = await startModel();
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

test('the request has what the server needs, the tools before the messages, and a limit of tokens always', async () => {
  const { fake, ask } = await startModel({ slots: 3 }, { name: 'qwen', temperature: 0.2 });
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
  const { fake, ask, model } = await startModel({ isLlama: false });
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
  const { fake, ask, model } = await startModel({ slots: 3, contextTokens: 20_000 });
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
  const { fake, model } = await startModel({ slots: 1 });

  const reply = await model.aside(
    { messages: talk('x'), tools: [], toolChoice: 'none', maxTokens: 9, seed: 1 },
    AbortSignal.any([]),
  );

  assert.deepEqual([reply, fake.requests.length], [undefined, 0]);
});

test('a Unix socket and a key work like TCP without', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'model-'));
  cleanups.push(() => rm(folder, { recursive: true }));
  const { fake, ask, model } = await startModel(
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

test('usage of zero is taken from the timings, and no usage is estimated', async () => {
  const { fake, ask } = await startModel();
  fake.push({ text: 'Some words here.', usage: 'zero' }, { text: 'Some words here.', usage: 'none' });

  const counted = (await ask()).usage;
  const estimated = (await ask()).usage;

  assert.equal(counted.completion_tokens, 4);
  assert.ok(counted.prompt_tokens! > 100);
  assert.equal(estimated.prompt_tokens, undefined);
  assert.ok(estimated.completion_tokens! >= 4);
});

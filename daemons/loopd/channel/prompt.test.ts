/**
 * Goal: a turn is accepted, run, told and ended as the channel promises. Method: the SDK's own client over a real Unix
 * socket, real session logs, a scripted model and a scripted memory.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PromptResponse } from '@agentclientprotocol/sdk';
import { AppError } from '../../../shared/errors.ts';
import type { SessionRecordOf } from '../../../shared/protocol/sessions.ts';
import { failure } from '../testing/channel-clients.ts';
import { callTool, hang, Lab, say } from '../testing/channel-lab.ts';

const where = { cwd: '/', mcpServers: [] };

test('a turn streams its text, is on the disk before the model is asked, and tells memoryd after it', async (t) => {
  const lab = await Lab.start(t);
  const client = await lab.client(t);
  const id = await client.newSession();
  let before: string[] = [];
  lab.steps.push((request, onDelta, signal) => {
    before = lab.records(id).map(({ type }) => type);
    return say('Good morning.')(request, onDelta, signal);
  });

  const reply = await client.prompt(id, 'good morning');

  assert.equal(reply.stopReason, 'end_turn');
  assert.equal(client.text('agent_message_chunk'), 'Good morning.');
  assert.equal(client.text('user_message_chunk'), '', 'who prompts knows what it said');
  assert.deepEqual(before, ['session', 'turn']);
  assert.deepEqual(reply._meta, {
    turn: 1,
    memory: [],
    usage: { prompt_tokens: 2000, completion_tokens: 5 },
    model: 'openai',
  });
  assert.deepEqual(lab.memory.updated, [id]);
});

test('every request of a session begins with the same bytes, also after memory changed and the daemon started again', async (t) => {
  const lab = await Lab.start(t, {
    steps: [callTool('memory', { action: 'add', text: 'tea' }), say('Saved.')],
  });
  const first = await lab.client(t);
  const id = await first.newSession();
  await first.prompt(id, 'remember tea');
  await lab.stop();
  const again = await Lab.start(t, { home: lab.home, steps: [say('yes')] });
  const client = await again.client(t);
  await client.agent.request('session/resume', { sessionId: id, ...where });
  await client.prompt(id, 'still there?');

  const requests = [...lab.requests, ...again.requests];
  const prefixes = requests.map(({ messages, tools }) => JSON.stringify([tools, messages[0], messages[1]]));
  assert.equal(requests.length, 3);
  assert.equal(new Set(prefixes).size, 1);
});

test('what was written to memory in a turn is told at its end', async (t) => {
  const lab = await Lab.start(t, {
    steps: [
      callTool('memory', { action: 'add', file: 'memory', text: 'tea' }),
      say('I have saved that to memory.'),
    ],
  });
  const client = await lab.client(t);
  const id = await client.newSession();

  const { _meta } = await client.prompt(id, 'remember tea', { request_id: 'r1' });
  const again = await client.prompt(id, 'remember tea', { request_id: 'r1' });

  assert.deepEqual(_meta?.['memory'], [{ file: 'memory', changed: [{ before: null, after: 'tea' }] }]);
  assert.equal(_meta?.['claimed_save_without_write'], undefined);
  assert.deepEqual(again._meta, _meta, 'a repeated request is answered alike');
  assert.deepEqual(lab.memory.entries, ['tea'], 'and nothing happens twice');
  const asked = lab.memory.asked.find(({ method }) => method === 'memory')?.params;
  assert.deepEqual(asked?.['origin'], { session: id, turn: 1 });
  const intent = lab.records(id).find(({ type }) => type === 'call');
  assert.equal(asked?.['request_id'], intent?.type === 'call' && intent.key);
});

test('an answer that claims to have saved without a write is marked', async (t) => {
  const lab = await Lab.start(t, {
    steps: [say('Got it, saved to memory!'), say('The train leaves at nine.')],
  });
  const client = await lab.client(t);
  const id = await client.newSession();

  assert.equal((await client.prompt(id, 'remember tea'))._meta?.['claimed_save_without_write'], true);
  assert.equal((await client.prompt(id, 'when?'))._meta?.['claimed_save_without_write'], undefined);
});

test('a write that was refused for good is told at the end of the turn', async (t) => {
  const lab = await Lab.start(t, {
    steps: [callTool('memory', { action: 'add', text: 'x' }), say('It is full.')],
  });
  const client = await lab.client(t);
  const id = await client.newSession();
  lab.memory.fault = new AppError('memory-full', 'full', {
    details: { used: 1, limit: 1, need: 2, entries: [] },
  });

  const { stopReason, _meta } = await client.prompt(id, 'remember x');

  assert.equal(stopReason, 'end_turn');
  assert.deepEqual(_meta?.['memory_refused'], [{ code: 'memory-full', file: 'memory' }]);
});

test('tool calls are told with name, arguments, status and result', async (t) => {
  const lab = await Lab.start(t, { steps: [callTool('clock', {}), callTool('nothing', {}), say('Noon.')] });
  const client = await lab.client(t);
  const id = await client.newSession();

  await client.prompt(id, 'what time is it?');

  const calls = client.updates.filter(({ sessionUpdate }) => sessionUpdate.startsWith('tool_call'));
  const told = calls.map((update) => {
    const { toolCallId, status } = update as { toolCallId: string; status: string };
    return `${toolCallId} ${status}`;
  });
  assert.deepEqual(told, [
    'c1.0.0 pending',
    'c1.0.0 in_progress',
    'c1.0.0 completed',
    'c1.1.0 pending',
    'c1.1.0 failed',
  ]);
  assert.match(JSON.stringify(calls.at(-1)), /There is no tool nothing.*Your tools are clock/);
});

test('a request id is done once: while it runs, after it, after a restart; with other text it is refused', async (t) => {
  let finish: () => void = () => {};
  const slow = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const lab = await Lab.start(t, {
    steps: [
      async (request, onDelta, signal) => {
        onDelta({ type: 'thought', delta: 'hm' });
        await slow;
        return say('once')(request, onDelta, signal);
      },
    ],
  });
  const client = await lab.client(t);
  const other = await lab.client(t);
  const id = await client.newSession();
  const first = client.prompt(id, 'do it', { request_id: 'r1' });
  await client.seen(() => client.text('agent_thought_chunk') !== '');
  const second = other.prompt(id, 'do it', { request_id: 'r1' });
  finish();

  assert.deepEqual(await second, await first);
  const { data } = await failure(client.prompt(id, 'do something else', { request_id: 'r1' }));
  assert.equal(data['code'], 'request-reused');
  await lab.stop();
  const again = await Lab.start(t, { home: lab.home });
  assert.deepEqual(await (await again.client(t)).prompt(id, 'do it', { request_id: 'r1' }), await first);
  assert.equal(lab.requests.length + again.requests.length, 1);
});

test('a session runs one turn at a time', async (t) => {
  const lab = await Lab.start(t, { steps: [hang('working')] });
  const client = await lab.client(t);
  const id = await client.newSession();
  const running = client.prompt(id, 'long work');
  await client.seen((updates) => updates.length > 0);

  const { code, data } = await failure(client.prompt(id, 'another'));

  assert.equal(code, -32603);
  assert.deepEqual([data['code'], data['turn'], data['retryable']], ['session-busy', 1, true]);
  await client.agent.notify('session/cancel', { sessionId: id });
  assert.equal((await running).stopReason, 'cancelled');
});

test('of many prompts at once exactly one is accepted', async (t) => {
  const lab = await Lab.start(t, { steps: [hang()] });
  const client = await lab.client(t);
  const id = await client.newSession();

  const prompts = Array.from({ length: 20 }, (_, at) => client.prompt(id, `p${at}`));
  const settled = Promise.allSettled(prompts);
  await Promise.any(prompts.slice(1).map((prompt) => prompt.catch(() => undefined)));
  await client.agent.notify('session/cancel', { sessionId: id });

  const outcomes = (await settled).map(({ status }) => status);
  assert.equal(outcomes.filter((status) => status === 'fulfilled').length, 1);
  assert.equal(lab.records(id).filter(({ type }) => type === 'turn').length, 1);
});

test('cancel stops the request to the model and answers cancelled, also right behind the prompt', async (t) => {
  let isStopped = false;
  const lab = await Lab.start(t, {
    steps: [
      (request, onDelta, signal) => {
        signal.addEventListener('abort', () => (isStopped = true));
        return hang('half a sen')(request, onDelta, signal);
      },
      hang(),
    ],
  });
  const client = await lab.client(t);
  const id = await client.newSession();
  const running = client.prompt(id, 'tell me');
  await client.seen(() => client.text('agent_message_chunk') !== '');
  await client.agent.notify('session/cancel', { sessionId: id });

  assert.equal((await running).stopReason, 'cancelled');
  assert.ok(isStopped);
  const behind = client.prompt(id, 'again');
  await client.agent.notify('session/cancel', { sessionId: id });
  assert.equal((await behind).stopReason, 'cancelled');
  const last = lab.records(id).at(-1) as SessionRecordOf<'end'>;
  assert.deepEqual([last.type, last.outcome], ['end', 'cancelled']);
});

test("the protocol's own cancellation of a request cancels the turn", async (t) => {
  const lab = await Lab.start(t, { steps: [hang('w')] });
  const client = await lab.client(t);
  const id = await client.newSession();
  const cancel = new AbortController();
  const prompt = [{ type: 'text' as const, text: 'tell me' }];
  const running = client.agent.request<PromptResponse>(
    'session/prompt',
    { sessionId: id, prompt },
    { cancellationSignal: cancel.signal },
  );
  await client.seen(() => client.text('agent_message_chunk') !== '');
  cancel.abort();

  assert.equal((await running).stopReason, 'cancelled');
});

test('a prompt that is empty, or holds what cannot be read as text, is refused by field', async (t) => {
  const lab = await Lab.start(t);
  const client = await lab.client(t);
  const id = await client.newSession();
  const image = { type: 'image' as const, data: 'AAAA', mimeType: 'image/png' };

  for (const prompt of [[], [{ type: 'text' as const, text: ' \n' }], [image]]) {
    const { code } = await failure(client.agent.request('session/prompt', { sessionId: id, prompt }));
    assert.equal(code, -32602);
  }
  assert.equal((await failure(client.prompt(id, 'x', { request_id: 7 }))).data['field'], '_meta.request_id');
  assert.equal((await failure(client.newSession({ origin: 'moon' }))).data['field'], '_meta.origin');
  assert.equal(lab.records(id).length, 1, 'nothing was recorded');
});

test('how a turn ends is a stop reason, and an error keeps its code', async (t) => {
  const reply = (finish: string, text: string) => ({ text, reasoning: '', calls: [], finish, usage: {} });
  const lab = await Lab.start(t, {
    steps: [
      () => reply('length', 'half a sen'),
      () => reply('content_filter', ''),
      () => {
        throw new AppError('model-unavailable', 'connect: ECONNREFUSED');
      },
      callTool('clock', {}),
      say('last step'),
    ],
    options: { turnLimits: { stepsMax: 2, loadingMsMax: 0 } },
  });
  const client = await lab.client(t);
  const id = await client.newSession();

  assert.equal((await client.prompt(id, '1')).stopReason, 'max_tokens');
  assert.equal((await client.prompt(id, '2')).stopReason, 'refusal');
  const { code, data } = await failure(client.prompt(id, '3'));
  assert.equal(code, -32603);
  assert.deepEqual(
    [data['code'], data['runbook'], data['turn']],
    ['model-unavailable', 'model-unavailable', 3],
  );
  assert.equal((await client.prompt(id, '4')).stopReason, 'max_turn_requests');
});

test('a turn that a crash broke off is gone on with at the next start, and its request finds it', async (t) => {
  const lab = await Lab.start(t, { steps: [hang('w')] });
  const client = await lab.client(t);
  const id = await client.newSession();
  const cut = failure(client.prompt(id, 'long work', { request_id: 'r1' }));
  await client.seen(() => client.text('agent_message_chunk') !== '');
  await lab.stop();
  assert.equal((await cut).data['code'], 'stopping');
  const again = await Lab.start(t, { home: lab.home, steps: [say('done after all')] });

  await again.channel.resumeTurns();
  const { stopReason } = await (await again.client(t)).prompt(id, 'long work', { request_id: 'r1' });

  assert.equal(stopReason, 'end_turn');
  assert.deepEqual(
    again.records(id).map(({ type }) => type),
    ['session', 'turn', 'assistant', 'end'],
  );
});

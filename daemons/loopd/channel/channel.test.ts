/**
 * Goal: a client of the protocol gets what the channel promises. Method: the SDK's own client over a real Unix socket,
 * real session logs, a scripted model and a scripted memory.
 */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  RequestError,
  type LoadSessionResponse,
  type NewSessionResponse,
  type PromptResponse,
} from '@agentclientprotocol/sdk';
import { AppError } from '../../../shared/errors.ts';
import type { SessionRecordOf } from '../../../shared/protocol/sessions.ts';
import { callTool, hang, Lab, say, sha256 } from '../testing/channel-lab.ts';

async function failure(work: Promise<unknown>): Promise<{ code: number; data: Record<string, unknown> }> {
  const thrown: unknown = await work.then(
    () => assert.fail('it was answered'),
    (error: unknown) => error,
  );
  assert.ok(thrown instanceof RequestError, String(thrown));
  return { code: thrown.code, data: (thrown.data ?? {}) as Record<string, unknown> };
}

const where = { cwd: '/', mcpServers: [] };

test('a client learns what the agent can do', async (t) => {
  const lab = await Lab.start(t);
  const { agent } = await lab.client(t);

  const reply = await agent.request('initialize', { protocolVersion: 7 });

  assert.equal(reply.protocolVersion, 1);
  assert.equal(reply.agentCapabilities?.loadSession, true);
  assert.deepEqual(reply.agentCapabilities?.sessionCapabilities, {
    list: {},
    resume: {},
    close: {},
    delete: {},
  });
  assert.equal(reply.agentCapabilities?.promptCapabilities?.image, false);
});

test('a new session freezes system.md, block and tools, on the disk before it is answered', async (t) => {
  const lab = await Lab.start(t);
  lab.memory.entries = ['the fern is watered on Mondays'];
  const client = await lab.client(t);

  const id = await client.newSession({ origin: 'schedule' });

  const [record] = lab.records(id) as [SessionRecordOf<'session'>];
  assert.equal(record.origin, 'schedule');
  assert.equal(record.model, 'scripted');
  assert.ok(record.baseline.system.endsWith('\n\n- the fern is watered on Mondays'));
  assert.equal(record.baseline.version, sha256('- the fern is watered on Mondays'));
  assert.deepEqual(
    record.baseline.tools.map((tool) => tool.function.name),
    ['clock', 'recall', 'memory', 'find_tool', 'call_tool'],
  );
});

test('without a block there is no session and no file, whatever the reason; the next one works when it is back', async (t) => {
  const lab = await Lab.start(t);
  const client = await lab.client(t);
  const old = await client.newSession();
  for (const [fault, cause] of [
    [new AppError('memory-unreadable', 'memory.md: not UTF-8'), 'memory-unreadable'],
    [new AppError('memory-unavailable', 'connect', { details: { errno: 'ECONNREFUSED' } }), 'ECONNREFUSED'],
    ['hangs', 'timeout'],
  ] as const) {
    lab.memory.fault = fault;

    const { code, data } = await failure(client.newSession());

    assert.equal(code, -32603);
    assert.deepEqual(
      [data['code'], data['runbook'], data['cause'], data['retryable']],
      ['memory-unavailable', 'memory-unavailable', cause, true],
    );
  }
  assert.deepEqual(readdirSync(join(lab.home, 'sessions')), [`${old}.jsonl`]);

  lab.memory.fault = undefined;
  await client.newSession();
});

test('a session that exists goes on without memoryd: prompting, loading and listing', async (t) => {
  const lab = await Lab.start(t, { steps: [say('still here')] });
  const client = await lab.client(t);
  const id = await client.newSession();
  lab.memory.fault = new AppError('memory-unavailable', 'down');

  const { stopReason } = await client.prompt(id, 'hello');
  await client.agent.request('session/load', { sessionId: id, ...where });
  const { sessions } = await client.agent.request('session/list', {});

  assert.equal(stopReason, 'end_turn');
  assert.equal(sessions[0]?.sessionId, id);
  assert.equal(lab.link.counters.updatesLost, 1, 'the lost update is counted');
});

test('a bad system.md refuses new sessions by name', async (t) => {
  const lab = await Lab.start(t, { options: { systemPath: '/nowhere/system.md' } });
  const small = await Lab.start(t, { options: { fixedTokensMax: 100 } });

  assert.equal((await failure((await lab.client(t)).newSession())).data['code'], 'baseline-unreadable');
  assert.equal((await failure((await small.client(t)).newSession())).data['code'], 'baseline-too-large');
  assert.deepEqual(readdirSync(join(lab.home, 'sessions')), []);
});

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
  assert.equal(asked?.['request_id'], `${id}/c1.0.0`);
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
  assert.deepEqual(_meta?.['memory_refused'], [{ code: 'memory-full' }]);
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

test('a client that goes does not cancel its turn, and another one that comes sees the rest', async (t) => {
  let finish: () => void = () => {};
  const lab = await Lab.start(t, {
    steps: [
      async (_, onDelta) => {
        onDelta({ type: 'text', delta: 'first half, ' });
        await new Promise<void>((resolve) => {
          finish = resolve;
        });
        onDelta({ type: 'text', delta: 'second half' });
        const text = 'first half, second half';
        return { text, reasoning: '', calls: [], finish: 'stop', usage: {} };
      },
    ],
  });
  const gone = await lab.client(t);
  const id = await gone.newSession();
  gone.prompt(id, 'a long story').catch(() => {});
  await gone.seen(() => gone.text('agent_message_chunk') !== '');
  gone.socket.destroy();

  const client = await lab.client(t);
  const { _meta } = await client.agent.request('session/load', { sessionId: id, ...where });
  assert.equal(_meta?.['running_turn'], 1);
  assert.equal(client.text('user_message_chunk'), 'a long story');
  assert.equal(client.text('agent_message_chunk'), 'first half, ', 'what was said of the step so far');
  finish();
  await client.seen((updates) => updates.some(({ _meta }) => _meta?.['turn_end'] !== undefined));

  assert.equal(client.text('agent_message_chunk'), 'first half, second half');
  assert.equal(lab.records(id).at(-1)?.type, 'end');
});

test('several clients watch one session; the others are told what was asked', async (t) => {
  const lab = await Lab.start(t, { steps: [say('blue')] });
  const asks = await lab.client(t);
  const watches = await lab.client(t);
  const id = await asks.newSession();
  await watches.agent.request('session/resume', { sessionId: id, ...where });

  await asks.prompt(id, 'which colour?');
  await watches.seen((updates) => updates.some(({ _meta }) => _meta?.['turn_end'] !== undefined));

  assert.equal(watches.text('user_message_chunk'), 'which colour?');
  assert.equal(watches.text('agent_message_chunk'), 'blue');
});

test('load replays everything that was said and done, resume nothing', async (t) => {
  const lab = await Lab.start(t, { steps: [callTool('clock', {}), say('It is noon.'), say('You too.')] });
  const first = await lab.client(t);
  const id = await first.newSession();
  await first.prompt(id, 'what time is it?');
  await first.prompt(id, 'have a nice day');

  const loads = await lab.client(t);
  await loads.agent.request('session/load', { sessionId: id, ...where });
  const resumes = await lab.client(t);
  await resumes.agent.request('session/resume', { sessionId: id, ...where });

  assert.equal(loads.text('user_message_chunk'), 'what time is it?have a nice day');
  assert.equal(loads.text('agent_message_chunk'), 'It is noon.You too.');
  const kinds = loads.updates
    .map(({ sessionUpdate }) => sessionUpdate)
    .filter((kind) => kind !== 'session_info_update');
  assert.deepEqual(kinds, [
    'user_message_chunk',
    'tool_call',
    'tool_call_update',
    'agent_message_chunk',
    'user_message_chunk',
    'agent_message_chunk',
  ]);
  assert.deepEqual(resumes.updates, []);
});

test('sessions are listed newest first, page by page, by their title or how they began', async (t) => {
  const lab = await Lab.start(t, {
    steps: [say('one'), say('two')],
    options: { title: async () => 'About the fern' },
  });
  const client = await lab.client(t);
  const id = await client.newSession();
  await client.prompt(id, 'how often is the fern watered?');
  await client.seen((updates) =>
    updates.some(
      (update) => update.sessionUpdate === 'session_info_update' && update.title === 'About the fern',
    ),
  );
  for (let at = 0; at < 60; at += 1) await client.newSession();

  const first = await client.agent.request('session/list', { cwd: '/home/x' });
  const second = await client.agent.request('session/list', { cursor: first.nextCursor ?? null });

  assert.equal(first.sessions.length + second.sessions.length, 61);
  assert.equal(second.nextCursor ?? undefined, undefined);
  assert.equal(first.sessions[0]?.cwd, '/home/x', 'a session belongs to no folder, so it is in each');
  const listed = second.sessions.at(-1);
  assert.deepEqual([listed?.sessionId, listed?.title], [id, 'About the fern']);
});

test('close stops the turn and keeps the log; delete removes it and memoryd is told', async (t) => {
  const lab = await Lab.start(t, { steps: [hang('w'), say('again')] });
  const client = await lab.client(t);
  const id = await client.newSession();
  const running = client.prompt(id, 'long work');
  await client.seen(() => client.text('agent_message_chunk') !== '');

  await client.agent.request('session/close', { sessionId: id });
  assert.equal((await running).stopReason, 'cancelled');
  assert.equal(
    (await client.prompt(id, 'more')).stopReason,
    'end_turn',
    'a closed session can be used again',
  );
  await client.agent.request('session/delete', { sessionId: id });

  assert.deepEqual(
    readdirSync(join(lab.home, 'sessions')).filter((name) => name.endsWith('.jsonl')),
    [],
  );
  assert.equal(lab.memory.updated.at(-1), id);
  assert.equal((await failure(client.prompt(id, 'x'))).code, -32002);
});

test('memoryd learns of a deletion that it could not be told of, also after a restart', async (t) => {
  const lab = await Lab.start(t);
  const client = await lab.client(t);
  const id = await client.newSession();
  lab.memory.fault = new AppError('memory-unavailable', 'down');
  await client.agent.request('session/delete', { sessionId: id });
  assert.equal((await lab.channel.status())['deleted_untold'], 1);
  await lab.stop();

  const again = await Lab.start(t, { home: lab.home });
  while (again.memory.updated.length === 0) await new Promise((resolve) => setImmediate(resolve));

  assert.deepEqual(again.memory.updated, [id]);
});

test('an unknown session is -32002 with its code, whatever is asked of it', async (t) => {
  const { agent } = await (await Lab.start(t)).client(t);
  const sessionId = 'nobody';
  const prompt = [{ type: 'text' as const, text: 'x' }];
  for (const asked of [
    agent.request('session/load', { sessionId, ...where }),
    agent.request('session/resume', { sessionId, ...where }),
    agent.request('session/prompt', { sessionId, prompt }),
    agent.request('session/prompt', { sessionId: '../../etc/passwd', prompt }),
    agent.request('_loopkeep/forget', { session: sessionId }),
  ]) {
    const { code, data } = await failure(asked);
    assert.equal(code, -32002);
    assert.equal(data['code'], 'session-unknown');
  }
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

test('MCP servers that a client names are ignored and named, unless the configuration takes them', async (t) => {
  const named = { cwd: '/', mcpServers: [{ name: 'mine', command: 'true', args: [], env: [] }] };
  const lab = await Lab.start(t);
  const client = await lab.client(t);

  const { sessionId, _meta } = await client.agent.request<NewSessionResponse>('session/new', named);
  const loaded = await client.agent.request<LoadSessionResponse>('session/load', { sessionId, ...named });

  assert.deepEqual(_meta?.['mcp_servers_ignored'], ['mine']);
  assert.deepEqual(loaded._meta?.['mcp_servers_ignored'], ['mine']);
  const open = await Lab.start(t, { options: { takesClientServers: true } });
  const taken = await (await open.client(t)).agent.request<NewSessionResponse>('session/new', named);
  assert.equal(taken._meta?.['mcp_servers_ignored'], undefined);
});

test('status says what runs, how the model and the memory link are, and which faults were answered', async (t) => {
  const lab = await Lab.start(t);
  const client = await lab.client(t);
  await failure(client.prompt('nobody', 'x'));

  const status = await client.agent.request<Record<string, unknown>>('_loopkeep/status', {});

  assert.equal(status['pid'], process.pid);
  assert.equal(status['sessions'], 0);
  assert.deepEqual(status['running'], []);
  assert.deepEqual(status['faults'], { 'session-unknown': 1 });
  assert.deepEqual(status['model'], { kind: 'openai', name: 'scripted', state: 'ready', warnings: [] });
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

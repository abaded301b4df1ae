/**
 * Goal: sessions come, go, and are found again as the channel promises. Method: the SDK's own client over a real Unix
 * socket, real session logs, a scripted model and a scripted memory.
 */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { LoadSessionResponse, NewSessionResponse } from '@agentclientprotocol/sdk';
import { AppError } from '../../../shared/errors.ts';
import type { SessionRecordOf } from '../../../shared/protocol/sessions.ts';
import { failure } from '../testing/channel-clients.ts';
import { callTool, hang, Lab, say, sha256 } from '../testing/channel-lab.ts';

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

/**
 * Goal: the channel keeps its promises between real processes: memoryd restarts and dies beside it, and it dies itself.
 * Method: both daemons as child processes on a home of their own, the SDK's client on the socket, a model server that
 * says what the test wrote down.
 */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { RequestError } from '@agentclientprotocol/sdk';
import { startDaemon, temporaryHome, type RunningDaemon } from '../../../shared/testing/start-daemon.ts';
import { TestClient } from '../testing/channel-clients.ts';
import { FakeModel } from '../testing/fake-model.ts';
import type { FakeStep } from '../testing/fake-step.ts';

const where = { cwd: '/', mcpServers: [] };

interface Stage {
  readonly home: string;
  readonly socket: string;
  start(name: 'memoryd' | 'loopd'): Promise<RunningDaemon>;
  client(): Promise<TestClient>;
}

function stageOf(t: TestContext, config = ''): Stage {
  const { home, remove } = temporaryHome();
  const daemons: RunningDaemon[] = [];
  const sockets: Socket[] = [];
  if (config !== '') writeFileSync(join(home, 'loopd.toml'), config);
  t.after(async () => {
    for (const socket of sockets) socket.destroy();
    await Promise.all(daemons.map((daemon) => daemon.kill()));
    remove();
  });
  const socket = join(home, 'run', 'channel', 'loop.sock');
  return {
    home,
    socket,
    start: async (name) => {
      const daemon = await startDaemon(name, home);
      daemons.push(daemon);
      return daemon;
    },
    client: async () => {
      const open = await new Promise<Socket>((resolve, reject) => {
        const opening = connect(socket, () => resolve(opening));
        opening.once('error', reject);
      });
      sockets.push(open);
      return TestClient.over(open);
    },
  };
}

async function modelOf(t: TestContext, ...steps: FakeStep[]): Promise<FakeModel> {
  const model = await FakeModel.start({ steps, slots: 2, contextTokens: 16_384 });
  t.after(() => model.stop());
  return model;
}

const configOf = (model: FakeModel, more = '') => `[model]\nurl = "${model.url}"\ntitles = false\n${more}`;

async function codeOf(work: Promise<unknown>): Promise<Record<string, unknown>> {
  const thrown: unknown = await work.catch((error: unknown) => error);
  assert.ok(thrown instanceof RequestError, String(thrown));
  return { ...(thrown.data as Record<string, unknown>), rpc: thrown.code };
}

function typesOf(home: string, session: string): string[] {
  const text = readFileSync(join(home, 'sessions', `${session}.jsonl`), 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { type: string }).type);
}

test('memoryd restarts alone: sessions go on, new ones are refused meanwhile, then loopd is back by itself', async (t) => {
  const stage = stageOf(t);
  const memoryd = await stage.start('memoryd');
  await stage.start('loopd');
  const client = await stage.client();
  const first = await client.newSession();
  await client.prompt(first, 'Remember that the fern is watered on Mondays');
  await memoryd.kill();

  assert.equal((await client.prompt(first, 'What time is it?')).stopReason, 'end_turn');
  const refused = await codeOf(client.newSession());
  assert.deepEqual(
    [refused['rpc'], refused['code'], refused['runbook']],
    [-32603, 'memory-unavailable', 'memory-unavailable'],
  );
  assert.equal(typeof refused['cause'], 'string');
  assert.deepEqual(
    readdirSync(join(stage.home, 'sessions')).filter((name) => name.endsWith('.jsonl')),
    [`${first}.jsonl`],
  );

  await stage.start('memoryd');
  const second = await client.newSession();
  const log = readFileSync(join(stage.home, 'sessions', `${second}.jsonl`), 'utf8');
  assert.match(log, /the fern is watered on Mondays/, 'and what was remembered is in its block');
});

test('a curated file that cannot be read refuses new sessions, and the next one works when it is mended', async (t) => {
  const stage = stageOf(t);
  await stage.start('memoryd');
  await stage.start('loopd');
  const client = await stage.client();
  const file = join(stage.home, 'memory', 'memory.md');
  mkdirSync(join(stage.home, 'memory'), { recursive: true });
  writeFileSync(file, Buffer.from([0x2d, 0x20, 0xff, 0xfe]));

  const refused = await codeOf(client.newSession());
  assert.deepEqual([refused['code'], refused['cause']], ['memory-unavailable', 'memory-unreadable']);

  writeFileSync(file, '- mended by hand\n');
  await client.newSession();
});

test('a system.md that cannot be read refuses new sessions, not those that exist', async (t) => {
  const { home, remove } = temporaryHome();
  t.after(remove);
  const system = join(home, 'system.md');
  writeFileSync(system, 'Be kind.\n');
  const stage = stageOf(t, `[baseline]\nsystem = "${system}"\n`);
  await stage.start('memoryd');
  await stage.start('loopd');
  const client = await stage.client();
  const id = await client.newSession();
  rmSync(system);

  assert.equal((await codeOf(client.newSession()))['code'], 'baseline-unreadable');
  assert.equal((await client.prompt(id, 'What time is it?')).stopReason, 'end_turn');
});

test('loopd killed in the middle of a turn goes on with it at its next start, and the same request finds its end', async (t) => {
  const call = { calls: [{ name: 'memory', arguments: '{"action":"add","text":"tea"}' }] };
  const model = await modelOf(t, call, { text: 'half a', hold: 'middle' });
  const stage = stageOf(t, configOf(model));
  await stage.start('memoryd');
  const loopd = await stage.start('loopd');
  const client = await stage.client();
  const id = await client.newSession();
  client.prompt(id, 'remember tea', { request_id: 'r1' }).catch(() => {});
  while (model.requests.length < 2) await sleep(5);
  await loopd.kill();
  model.release();
  model.push({ text: 'Saved.' });

  await stage.start('loopd');
  const again = await stage.client();
  const { stopReason, _meta } = await again.prompt(id, 'remember tea', { request_id: 'r1' });

  assert.equal(stopReason, 'end_turn');
  assert.deepEqual(_meta?.['memory'], [{ file: 'memory', changed: [{ before: null, after: 'tea' }] }]);
  const memory = readFileSync(join(stage.home, 'memory', 'memory.md'), 'utf8');
  assert.equal(memory.match(/tea/g)?.length, 1, 'no effect happened twice');
  assert.deepEqual(typesOf(stage.home, id), [
    'session',
    'turn',
    'assistant',
    'decision',
    'call',
    'result',
    'assistant',
    'end',
  ]);
});

test('every request of a session begins with the same bytes, across restarts of both daemons and changes of memory', async (t) => {
  const model = await modelOf(t, { text: 'one' }, { text: 'two' }, { text: 'three' });
  const stage = stageOf(t, configOf(model));
  let memoryd = await stage.start('memoryd');
  let loopd = await stage.start('loopd');
  const id = await (await stage.client()).newSession();
  for (const text of ['first', 'second', 'third']) {
    const client = await stage.client();
    await client.prompt(id, text);
    writeFileSync(join(stage.home, 'memory', 'memory.md'), `- changed after the ${text} turn\n`);
    await Promise.all([memoryd.stop(), loopd.stop()]);
    memoryd = await stage.start('memoryd');
    loopd = await stage.start('loopd');
  }

  const bodies = model.requests.map(({ text }) => {
    const { tools, messages } = JSON.parse(text) as { tools: unknown[]; messages: unknown[] };
    return JSON.stringify(tools) + JSON.stringify(messages).slice(0, -1);
  });
  assert.equal(bodies.length, 3);
  for (const [at, body] of bodies.slice(1).entries())
    assert.ok(body.startsWith(bodies[at] ?? '?'), `request ${at + 2}`);
});

test('a tool of an MCP server is asked for, allowed, and called through the whole stack', async (t) => {
  const arguments_ = JSON.stringify({ name: 'all/echo', arguments: { message: 'through the stack' } });
  const model = await modelOf(
    t,
    { calls: [{ name: 'find_tool', arguments: '{"query":"echo a message"}' }] },
    { calls: [{ name: 'call_tool', arguments: arguments_ }] },
    { text: 'It said so.' },
  );
  const entry = join(process.cwd(), 'node_modules/@modelcontextprotocol/server-everything/dist/index.js');
  const server = `[mcp.servers.all]\ncommand = "${process.execPath}"\nargs = ["${entry}", "stdio"]\n`;
  const stage = stageOf(t, configOf(model, `[policy]\n"all/*" = "allow"\n${server}`));
  await stage.start('memoryd');
  await stage.start('loopd');
  const client = await stage.client();
  const id = await client.newSession();

  await client.prompt(id, 'echo something');

  const log = readFileSync(join(stage.home, 'sessions', `${id}.jsonl`), 'utf8');
  assert.match(log, /"verdict":"allow","rule":"policy: all\/\* = allow"/);
  assert.match(log, /Echo: through the stack/);
  assert.equal(client.text('agent_message_chunk'), 'It said so.');
});

test('a deleted session is gone from recall, also when memoryd was down while it was deleted', async (t) => {
  const stage = stageOf(t);
  const memoryd = await stage.start('memoryd');
  const loopd = await stage.start('loopd');
  const client = await stage.client();
  const secret = await client.newSession();
  await client.prompt(secret, 'The word is swordfish');
  const other = await client.newSession();
  const ask = async () => {
    client.updates.length = 0;
    await client.prompt(other, `What do you know about swordfish? (${Math.random()})`);
    return client.text('agent_message_chunk').includes(secret);
  };
  while (!(await ask())) await sleep(20);

  await memoryd.kill();
  await client.agent.request('session/delete', { sessionId: secret });
  await loopd.stop();
  await stage.start('memoryd');
  await stage.start('loopd');
  const again = await stage.client();
  const status = async () => again.agent.request<Record<string, unknown>>('_loopkeep/status', {});
  while ((await status())['deleted_untold'] !== 0) await sleep(20);
  again.updates.length = 0;
  await again.prompt(other, 'What do you know about swordfish?');

  assert.ok(!again.text('agent_message_chunk').includes(secret));
});

test('SIGTERM during a turn ends loopd in seconds with status 0, and the turn goes on afterwards', async (t) => {
  const model = await modelOf(t, { text: 'never', hold: 'headers' });
  const stage = stageOf(t, configOf(model));
  await stage.start('memoryd');
  const loopd = await stage.start('loopd');
  const client = await stage.client();
  const id = await client.newSession();
  const cut = codeOf(client.prompt(id, 'long work', { request_id: 'r1' }));
  while (model.requests.length < 1) await sleep(5);

  assert.equal(await loopd.stop(), 0);
  assert.equal((await cut)['code'], 'stopping');
  model.release();
  model.push({ text: 'done after all' });
  await stage.start('loopd');

  const again = await stage.client();
  assert.equal((await again.prompt(id, 'long work', { request_id: 'r1' })).stopReason, 'end_turn');
});

test('the socket and its folder are for their owner alone, whatever the umask', async (t) => {
  const before = process.umask(0);
  t.after(() => process.umask(before));
  const stage = stageOf(t);
  await stage.start('loopd');

  assert.equal(statSync(stage.socket).mode & 0o777, 0o600);
  assert.equal(statSync(join(stage.socket, '..')).mode & 0o777, 0o700);
  assert.equal((await codeOf((await stage.client()).newSession()))['code'], 'memory-unavailable');
  const { sessions } = await (await stage.client()).agent.request('session/list', {});
  assert.deepEqual(sessions, []);
  await codeOf((await stage.client()).agent.request('session/load', { sessionId: 'nobody', ...where }));
});

/**
 * Goal: what broke agents before a llama-server, and the logs of their sessions, does not break here. Method: each report
 * boiled down to its smallest input, with both daemons as processes, a model server that does what was seen to be done, and
 * the SDK's own client. The number is the case, the link the report it comes from.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { appendFileSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { promisify } from 'node:util';
import { Client } from '../../shared/client.ts';
import { homeOf } from '../../shared/home.ts';
import { memorydProtocol } from '../../shared/protocol/memoryd.ts';
import type { SessionRecord } from '../../shared/protocol/sessions.ts';
import {
  programCommand,
  startDaemon,
  temporaryHome,
  type RunningDaemon,
} from '../../shared/testing/start-daemon.ts';
import { failure, TestClient } from './testing/channel-clients.ts';
import { FakeModel } from './testing/fake-model.ts';

const { home, remove } = temporaryHome();
const { sessions, channelSocket, memorySockets } = homeOf({ home });
const sockets: Socket[] = [];
let model: FakeModel;
let memoryd: RunningDaemon;
let loopd: RunningDaemon;
let client: TestClient;

before(async () => {
  model = await FakeModel.start({ slots: 2, contextTokens: 16_384 });
  const entry = join(process.cwd(), 'node_modules/@modelcontextprotocol/server-everything/dist/index.js');
  writeFileSync(
    join(home, 'loopd.toml'),
    `[model]\nurl = "${model.url}"\ntitles = false\n[policy]\n"all/*" = "allow"\n` +
      `[mcp.servers.all]\ncommand = "${process.execPath}"\nargs = ["${entry}", "stdio"]\n`,
  );
  [memoryd, loopd] = await Promise.all([startDaemon('memoryd', home), startDaemon('loopd', home)]);
  client = await connected();
});

after(async () => {
  for (const socket of sockets) socket.destroy();
  await Promise.all([memoryd.kill(), loopd.kill()]);
  await model.stop();
  remove();
});

afterEach(() => model.dropSteps());

/** Something is done to the files of sessions while nobody has them open. */
async function whileDown(work: () => void): Promise<void> {
  await loopd.stop();
  work();
  loopd = await startDaemon('loopd', home);
  client = await connected();
}

function opened(): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(channelSocket, () => resolve(socket));
    sockets.push(socket);
    socket.once('error', reject);
  });
}

const connected = async () => await TestClient.over(await opened());
const pathOf = (session: string) => join(sessions, `${session}.jsonl`);
const call = (name: string, args: unknown) => ({
  name,
  arguments: typeof args === 'string' ? args : JSON.stringify(args),
});

function recordsOf(session: string): SessionRecord[] {
  const lines = readFileSync(pathOf(session), 'utf8').trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line) as SessionRecord);
}

const resultsOf = (session: string) =>
  recordsOf(session).flatMap((record) => (record.type === 'result' ? [record] : []));

// B120 https://github.com/am17an/llama.cpp/issues/43, https://github.com/noonghunna/club-3090/issues/665
test('arguments that were cut are never sent back, and the session goes on', async () => {
  const id = await client.newSession();
  model.push({ calls: [call('recall', '{"a":')] }, { text: 'Sorry.' });
  assert.equal((await client.prompt(id, 'look something up')).stopReason, 'end_turn');
  for (const text of ['And now?', 'And then?']) {
    model.push({ text: 'Well.' });
    assert.equal((await client.prompt(id, text)).stopReason, 'end_turn');
  }
  for (const { body, status } of model.requests) {
    assert.equal(status, 200);
    for (const { tool_calls: calls = [] } of body.messages as {
      tool_calls?: { function: { arguments: string } }[];
    }[])
      for (const { function: made } of calls) assert.equal(typeof JSON.parse(made.arguments), 'object');
  }
});

// B122 https://github.com/PKUfudawei/dsh-capability-menu/issues/4, https://github.com/huggingface/smolagents/pull/1003
test('arguments of call_tool that came as a string, or wrapped twice, reach the tool; what is none is refused by name', async () => {
  const id = await client.newSession();
  const wrapped = { name: 'all/echo', arguments: JSON.stringify({ message: 'as a string' }) };
  const twice = { name: 'call_tool', arguments: { name: 'all/echo', arguments: { message: 'twice' } } };
  const broken = { name: 'all/echo', arguments: '{"message":' };
  model.push(
    { calls: [call('call_tool', wrapped)] },
    { calls: [call('call_tool', JSON.stringify(twice))] },
    { calls: [call('call_tool', broken)] },
    { text: 'Done.' },
  );
  assert.equal((await client.prompt(id, 'echo')).stopReason, 'end_turn');
  const [first, second, third] = resultsOf(id);
  assert.deepEqual([first?.status, second?.status, third?.status], ['ok', 'ok', 'error']);
  assert.match(first?.text ?? '', /as a string/);
  assert.match(second?.text ?? '', /twice/);
  assert.match(third?.text ?? '', /arguments/);
  assert.doesNotMatch(third?.text ?? '', /Echo/);
});

// B123 https://github.com/nearai/ironclaw/issues/7892
test('a model that asks for the same tools again and again is answered from before, and then made to answer', async () => {
  const id = await client.newSession();
  const asked = model.requests.length;
  const same = { calls: [call('find_tool', { query: 'echo' })] };
  model.push(same, same, same, { text: 'There is an echo tool.' });
  assert.equal((await client.prompt(id, 'which tool?')).stopReason, 'end_turn');
  assert.equal(model.requests.length - asked, 4);
  const [, second, third] = resultsOf(id);
  assert.match(second?.text ?? '', /Same call as before/);
  assert.match(third?.text ?? '', /Answer now/);

  model.push(...Array.from({ length: 15 }, () => ({ ...same, ignoresNone: true })));
  const before = model.requests.length;
  const { data } = await failure(client.prompt(id, 'again'));
  assert.equal(data['code'], 'model-loop');
  assert.ok(model.requests.length - before < 6, `${model.requests.length - before} requests`);
});

// B125 https://github.com/NousResearch/hermes-agent/issues/89502, https://github.com/janhq/jan/pull/8646
test('an overflow is known by its fields, whatever its words, and the turn goes on with a shorter history', async () => {
  const fields = { n_prompt_tokens: 17_000, n_ctx: 16_384 };
  for (const error of [
    { code: 400, message: 'unbekannter Fehler', type: 'exceed_context_size_error', ...fields },
    { code: 400, message: 'no', type: 'invalid_request_error', ...fields },
  ]) {
    const id = await client.newSession();
    for (let turn = 0; turn < 4; turn += 1) {
      model.push({ text: 'Yes.' });
      await client.prompt(id, `Question ${turn} ${'word '.repeat(300)}`);
    }
    model.push({ status: 400, error }, { text: 'Went on.' });
    assert.equal((await client.prompt(id, 'and?')).stopReason, 'end_turn');
    assert.ok(recordsOf(id).some(({ type }) => type === 'compact'));
  }
  const id = await client.newSession();
  const error = { code: 400, message: 'the context size is exceeded', type: 'invalid_request_error' };
  model.push({ status: 400, error });
  assert.equal((await failure(client.prompt(id, 'prose alone'))).data['code'], 'model-refused');
});

// B127 https://github.com/NousResearch/hermes-agent/issues/102044, https://github.com/ggml-org/llama.cpp/issues/27309
test('a model that loads is waited for; one that cannot load ends the turn at once, though its health says ok', async () => {
  const id = await client.newSession();
  model.load(2);
  model.push({ text: 'Loaded.' });
  assert.equal((await client.prompt(id, 'hello')).stopReason, 'end_turn');

  const asked = model.requests.length;
  model.push({ status: 500, error: { code: 500, message: 'failed to load model', type: 'server_error' } });
  const { data } = await failure(client.prompt(id, 'hello again'));
  assert.equal(data['code'], 'model-unavailable');
  assert.equal(model.requests.length - asked, 1);
  model.push({ text: 'Back.' });
  assert.equal((await client.prompt(id, 'and now')).stopReason, 'end_turn');
});

// B075 https://github.com/NousResearch/hermes-agent/issues/42405, B076 https://github.com/NousResearch/hermes-agent/issues/79472
test('a full memory ends the attempts of a turn, the person is answered, and told that nothing was written', async () => {
  const file = join(home, 'memory', 'memory.md');
  writeFileSync(file, `- ${'x'.repeat(2190)}\n`);
  const id = await client.newSession();
  const add = (text: string) => ({
    calls: [call('memory', { action: 'add', file: 'memory', text: text.repeat(100) })],
  });
  model.push(add('a'), add('b'), add('c'), add('d'), { text: 'It is full.' });
  const { stopReason, _meta } = await client.prompt(id, 'remember these');
  assert.equal(stopReason, 'end_turn');
  assert.deepEqual(_meta?.['memory'], []);
  assert.deepEqual(_meta?.['memory_refused'], [{ code: 'memory-full', file: 'memory' }]);
  const texts = resultsOf(id).map(({ text }) => text);
  assert.ok(texts.every((text) => text.includes('memory-full')));
  assert.equal(readFileSync(file, 'utf8'), `- ${'x'.repeat(2190)}\n`);
  writeFileSync(file, '- a fact\n');
});

// B091 https://github.com/tinyhumansai/openhuman/issues/6048, https://github.com/basicmachines-co/basic-memory/issues/1341
test('an answer that claims to have saved something, without a call, is marked in the outcome', async () => {
  const id = await client.newSession();
  model.push({ text: "I've saved that to memory." });
  const { _meta } = await client.prompt(id, 'remember that I like tea');
  assert.deepEqual([_meta?.['memory'], _meta?.['claimed_save_without_write']], [[], true]);
});

// B064 https://github.com/NousResearch/hermes-agent/issues/59184, B079 https://github.com/NousResearch/hermes-agent/issues/104093
test('the memory tool says that a replace takes the whole entry, and its names and their old ones all work', async () => {
  writeFileSync(join(home, 'memory', 'memory.md'), '- A: 1, B: 2, C: 3\n');
  const id = await client.newSession();
  model.push(
    {
      calls: [call('memory', { action: 'replace', file: 'memory', old_string: 'B: 2', new_text: 'all new' })],
    },
    { text: 'Done.' },
  );
  const { _meta } = await client.prompt(id, 'replace it');
  assert.deepEqual(_meta?.['memory'], [
    { file: 'memory', changed: [{ before: 'A: 1, B: 2, C: 3', after: 'all new' }] },
  ]);
  const [header] = recordsOf(id);
  assert.ok(header?.type === 'session');
  const tool = header.baseline.tools.find(({ function: { name } }) => name === 'memory');
  assert.match(tool?.function.description ?? '', /replace the whole entry/);
});

// B034 https://github.com/openclaw/openclaw/issues/103732
test('the socket, the tool and the command line give the same hits', async () => {
  const told = await client.newSession();
  model.push({ text: 'The marmot sleeps in the shed.' });
  await client.prompt(told, 'where does the marmot sleep?');
  const loop = new Client(memorySockets.loop, memorydProtocol, { unavailable: 'memory-unavailable' });
  await loop.call('updated', { session: told });
  const query = 'marmot sleeps';
  const { hits } = await loop.call('recall', { query });
  loop.close();
  assert.ok(hits.length >= 2);

  const [node = '', ...rest] = programCommand('scripts/loopctl/main.ts');
  const { stdout } = await promisify(execFile)(node, [...rest, '--json', '--home', home, 'recall', query]);
  const places = (of: { session?: string; record: number }[]) =>
    of.map(({ session, record }) => `${session} ${record}`);
  assert.deepEqual(places((JSON.parse(stdout) as { hits: typeof hits }).hits), places(hits));

  const id = await client.newSession();
  model.push({ calls: [call('recall', { query })] }, { text: 'In the shed.' });
  await client.prompt(id, 'ask your memory');
  const [result] = resultsOf(id);
  for (const { text, session } of hits) {
    const shown = result?.text ?? '';
    assert.ok(shown.includes(text), text);
    assert.ok(shown.includes(session ?? '?'));
  }
});

// B043 https://github.com/genai-io/gen-code/pull/364, B044 https://github.com/PrimeIntellect-ai/prime-agent/issues/928
// B045 https://github.com/modelscope/ms-agent/pull/1000, B056 https://github.com/huggingface/tau/pull/354
test('a log whose end was cut opens with its whole records, and what is appended is whole; damage inside is refused', async () => {
  const text = 'a\u2028b\u2029c\u0085d';
  const ids: string[] = [];
  for (let at = 0; at < 4; at += 1) {
    const id = await client.newSession();
    model.push({ text: 'One.' });
    await client.prompt(id, text);
    ids.push(id);
  }
  const [line = '', character = '', unended = '', inside = ''] = ids;
  const whole = recordsOf(line).length;
  await whileDown(() => {
    appendFileSync(pathOf(line), '{"role":"us');
    appendFileSync(
      pathOf(character),
      Buffer.concat([Buffer.from('{"v":1,"text":"'), Buffer.from([0xe6, 0xbc])]),
    );
    truncateSync(pathOf(unended), statSync(pathOf(unended)).size - 1);
    const [first, ...others] = readFileSync(pathOf(inside), 'utf8').split('\n');
    writeFileSync(pathOf(inside), [first, '{"role":"us', ...others].join('\n'));
  });
  for (const id of [line, character, unended]) {
    await client.agent.request('session/load', { sessionId: id, cwd: '/', mcpServers: [] });
    model.push({ text: 'Two.' });
    assert.equal((await client.prompt(id, 'go on')).stopReason, 'end_turn');
    const records = recordsOf(id);
    assert.equal(records.length, whole + 3);
    assert.deepEqual(
      records.map(({ seq }) => seq),
      records.map((_, at) => at),
    );
    assert.ok(records.some((record) => record.type === 'turn' && record.text === text));
    assert.ok(
      loopd.lines.some((told) => told['session'] === id && told.level >= 40),
      'what was mended is logged',
    );
  }
  const before = readFileSync(pathOf(inside));
  const load = client.agent.request('session/load', { sessionId: inside, cwd: '/', mcpServers: [] });
  assert.equal((await failure(load)).data['code'], 'session-damaged');
  assert.deepEqual(readFileSync(pathOf(inside)), before);
});

const residentBytes = () =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${loopd.pid}/status`, 'utf8'))?.[1]) * 1024;

// B058 https://github.com/SkillfulAgents/SuperAgent/pull/749
test('a session of 25 MB that eight clients load at once is given to each, in bounded memory', async () => {
  const id = await client.newSession();
  const text = 'kettle and pot and pan. '.repeat(400);
  const at = '2026-11-30T10:00:00.000Z';
  const lines = Array.from({ length: 1300 }, (_, turn) =>
    [
      { type: 'turn', turn, text },
      { type: 'assistant', turn, step: 0, text, finish: 'stop' },
      { type: 'end', turn, outcome: 'answer' },
    ]
      .map((body, part) => `${JSON.stringify({ v: 1, seq: 1 + turn * 3 + part, at, ...body })}\n`)
      .join(''),
  ).join('');
  await whileDown(() => appendFileSync(pathOf(id), lines));
  assert.ok(lines.length > 24_000_000);
  const before = residentBytes();
  const loaded = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const socket = await opened();
      let bytes = 0;
      let tail = '';
      const done = new Promise<string>((resolve) => {
        socket.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          tail = (tail + chunk.toString('latin1')).slice(-2000);
          if (/"id":2[,}]/.test(tail)) resolve(tail);
        });
      });
      const send = (message: object) => socket.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
      send({ id: 1, method: 'initialize', params: { protocolVersion: 1 } });
      send({ id: 2, method: 'session/load', params: { sessionId: id, cwd: '/', mcpServers: [] } });
      assert.doesNotMatch(await done, /"error"/);
      socket.destroy();
      return bytes;
    }),
  );
  for (const bytes of loaded) assert.ok(bytes > 24_000_000, `${bytes} bytes`);
  assert.ok(residentBytes() - before < 500 * 1024 * 1024, `${residentBytes() - before} bytes more`);
});

// B059 https://github.com/anthropics/claude-code/issues/56064
test('no result of a tool that is cut leaves half a character in the log or in a request', async () => {
  const id = await client.newSession();
  const asked = model.requests.length;
  model.push(
    ...[0, 1, 2].map((shift) => ({
      calls: [
        call('call_tool', {
          name: 'all/echo',
          arguments: { message: 'x'.repeat(shift) + '😀'.repeat(2200) },
        }),
      ],
    })),
    { text: 'Long.' },
  );
  assert.equal((await client.prompt(id, 'echo much')).stopReason, 'end_turn');
  for (const { text, cut } of resultsOf(id)) {
    assert.equal(cut, true, text.slice(0, 300));
    assert.ok(text.isWellFormed() && !text.includes('\uFFFD'));
  }
  for (const { text } of model.requests.slice(asked)) {
    assert.ok(text.isWellFormed());
    assert.doesNotMatch(text, /\\ud[89ab][0-9a-f]{2}(?!\\ud[c-f])/i);
  }
});

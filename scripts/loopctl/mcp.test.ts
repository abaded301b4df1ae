/**
 * Goal: a program that speaks MCP can use the memory and the records, and can never declare a goal met.
 * Method: the SDK's own client against the server, over the record plane in memory.
 */
import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test, type TestContext } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import type { Tool } from '@modelcontextprotocol/sdk/types.js';
import { PlaneFixture, sparse } from '../../daemons/memoryd/plane/plane-fixture.ts';
import { AppError } from '../../shared/errors.ts';
import { recordKinds } from '../../shared/protocol/records.ts';
import type { Memoryd } from './mcp-tools.ts';
import { mcpServer, serveMcp } from './mcp.ts';

interface Said {
  readonly isError: boolean;
  readonly text: string;
}

/** The records are real; of the other methods it is kept what was asked. */
async function start(t: TestContext, answer?: (method: string, params: object) => unknown) {
  const plane = await PlaneFixture.open();
  const asked: [method: string, params: object][] = [];
  const memoryd = {
    call: async (method: string, params: object) => {
      asked.push([method, params]);
      if (answer !== undefined) return answer(method, params);
      return await plane.call(method as 'record/put', params);
    },
  } as Memoryd;
  const client = new Client({ name: 'test', version: '1' });
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await Promise.all([mcpServer(memoryd).connect(theirs), client.connect(ours)]);
  t.after(() => client.close());
  const use = async (name: string, args: Record<string, unknown>): Promise<Said> => {
    const { isError, content } = await client.callTool({ name, arguments: args });
    const [{ text }] = content as [{ text: string }];
    return { isError: isError === true, text };
  };
  return { plane, asked, client, use };
}

async function toolsOf(client: Client): Promise<Map<string, Tool>> {
  const { tools } = await client.listTools();
  return new Map(tools.map((tool) => [tool.name, tool]));
}

test('the tools are these, and no other', async (t) => {
  const { client } = await start(t);
  assert.deepEqual([...(await toolsOf(client)).keys()].toSorted(), [
    'memory',
    'read_goal_states',
    'read_ledger',
    'read_scratchpad',
    'read_summaries',
    'recall',
    'record_episode',
    'write_scratchpad',
  ]);
});

test('no tool could declare a goal met, whatever it is told', async (t) => {
  const { plane, asked, client, use } = await start(t);
  const goal = { ...sparse.goal_state, satisfied: true };
  for (const name of (await toolsOf(client)).keys()) {
    for (const args of [
      goal,
      { kind: 'goal_state', record: goal, run_id: 'r' },
      { ...sparse.scratchpad, kind: 'goal_state', satisfied: true },
    ]) {
      assert.equal((await use(name, args)).isError, true, name);
    }
  }
  assert.deepEqual(asked, []);
  await use('write_scratchpad', { run_id: 'r', key: '../gs/r/t', value: JSON.stringify(goal) });
  assert.deepEqual((await plane.call('record/list', { kind: 'goal_state' })).records, []);
});

test('tools that only read say so', async (t) => {
  const { client } = await start(t);
  const readers = [...(await toolsOf(client)).values()].filter(
    ({ annotations }) => annotations?.readOnlyHint === true,
  );
  assert.deepEqual(
    readers.map(({ name }) => name).filter((name) => !name.startsWith('read_')),
    ['recall'],
  );
});

test('an episode is recorded with the time it came, unless it says its own', async (t) => {
  const { plane, client, use } = await start(t);
  const { created_ms: _, ...episode } = sparse.episode;
  const before = Date.now();

  assert.deepEqual(JSON.parse((await use('record_episode', episode)).text), {
    key: 'ep/r/00000000000000000001',
    seq: 1,
  });
  await use('record_episode', { ...episode, created_ms: 7, tokens: 12 });

  const { records } = await plane.call('record/list', { kind: 'episode' });
  assert.ok((records[0]?.record['created_ms'] as number) >= before);
  assert.deepEqual([records[1]?.record['created_ms'], records[1]?.record['tokens']], [7, 12]);
  const schema = (await toolsOf(client)).get('record_episode')?.inputSchema;
  assert.deepEqual(
    Object.keys(schema?.properties ?? {}),
    Object.keys(recordKinds.episode.value['properties'] as object),
  );
});

test('ledger, goals, summaries and notes are read a page at a time', async (t) => {
  const { plane, use } = await start(t);
  for (const detail of ['a', 'b', 'c']) await plane.put('ledger', { ...sparse.ledger, detail });
  await plane.put('goal_state', sparse.goal_state, { run_id: 'r' });
  await plane.put('summary', sparse.summary);
  const read = async (name: string, args: object = {}) =>
    JSON.parse((await use(name, { run_id: 'r', ...args })).text) as {
      records: { record: Record<string, unknown> }[];
      next?: string;
    };

  const first = await read('read_ledger', { limit: 2 });
  const rest = await read('read_ledger', { limit: 2, cursor: first.next });
  assert.deepEqual(
    [...first.records, ...rest.records].map(({ record }) => record['detail']),
    ['a', 'b', 'c'],
  );
  assert.equal((await read('read_goal_states')).records[0]?.record['pass_rate'], 0.25);
  assert.equal((await read('read_summaries', { order: 'desc' })).records[0]?.record['headline'], 'h');
  assert.deepEqual((await read('read_ledger', { run_id: 'other' })).records, []);
});

test('a note is written, read by its key, and listed', async (t) => {
  const { use } = await start(t);
  await use('write_scratchpad', { run_id: 'r', key: 'a/b', value: 'first' });
  await use('write_scratchpad', { run_id: 'r', key: 'a/b', value: 'second' });

  const one = await use('read_scratchpad', { run_id: 'r', key: 'a/b' });
  const all = await use('read_scratchpad', { run_id: 'r' });
  const none = await use('read_scratchpad', { run_id: 'r', key: 'a' });

  assert.deepEqual(JSON.parse(one.text), { record: { run_id: 'r', key: 'a/b', value: 'second' } });
  assert.equal((JSON.parse(all.text) as { records: unknown[] }).records.length, 1);
  assert.deepEqual(JSON.parse(none.text), { record: null });
});

test('recall and memory are passed on as they are; a model may not say who it is', async (t) => {
  const { asked, use } = await start(t, () => ({ ok: true }));
  await use('recall', { query: 'boiler', limit: 3 });
  await use('memory', { action: 'add', file: 'user', content: 'likes tea' });
  assert.deepEqual(asked, [
    ['recall', { query: 'boiler', limit: 3 }],
    ['memory', { action: 'add', file: 'user', content: 'likes tea' }],
  ]);
  const forged = await use('memory', { action: 'add', file: 'user', text: 'x', origin: { session: 's' } });
  assert.deepEqual([forged.isError, forged.text], [true, 'invalid-params: origin is not a known field']);
});

test('an error is a result with the code, the sentence, and what helps to do it right', async (t) => {
  const full = new AppError('memory-full', 'no room', { details: { used: 5, limit: 4, entries: ['a'] } });
  const { use } = await start(t, () => {
    throw full;
  });
  assert.deepEqual(await use('memory', { action: 'add', text: 'x' }), {
    isError: true,
    text: 'memory-full: no room\n{"used":5,"limit":4,"entries":["a"]}',
  });
});

test('a record that is refused says which field is wrong', async (t) => {
  const { use } = await start(t);
  const { isError, text } = await use('write_scratchpad', { run_id: 'r', key: ' ', value: '' });
  assert.equal(isError, true);
  assert.match(
    text,
    /^rejected: scratchpad not stored: key is blank.*\n\{"kind":"scratchpad","field":"key","value":" "\}$/,
  );
  assert.match(
    (await use('read_ledger', { run_id: 'r', limit: 1001 })).text,
    /^invalid-params: limit must be <= 1000$/,
  );
  assert.match((await use('read_ledger', { run_id: 'r', cursor: 'x' })).text, /^invalid-params: cursor /);
});

test('a tool that is not there is an error of the protocol', async (t) => {
  const { client } = await start(t);
  await assert.rejects(client.callTool({ name: 'write_goal_state' }), { code: -32602 });
});

test('what was asked before the input ended is answered before the server ends', async () => {
  const input = new PassThrough();
  const output = new PassThrough();
  let answer: (reply: unknown) => void = () => {};
  const memoryd = { call: () => new Promise((resolve) => (answer = resolve)) } as unknown as Memoryd;
  const served = serveMcp(memoryd, { input, output });
  const request = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'recall', arguments: { query: '' } },
  };

  input.end(`${JSON.stringify(request)}\n`);
  await new Promise((resolve) => input.once('end', resolve));
  setImmediate(() => answer({ hits: [] }));
  await served;

  const reply = JSON.parse((output.read() as Buffer).toString()) as {
    result: { content: { text: string }[] };
  };
  assert.deepEqual(reply.result.content, [{ type: 'text', text: '{"hits":[]}' }]);
});

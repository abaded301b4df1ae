import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { McpServers } from './mcp.ts';
import type { McpTool } from './mcp-connection.ts';
import { prepareJsonSchemas } from './json-schema.ts';
import type { ToolContext } from './tool.ts';
import { ToolSet } from './tool-set.ts';

const context: ToolContext = {
  session: 's',
  turn: 1,
  call: 'c1.0.0',
  key: 's/c1.0.0',
  signal: new AbortController().signal,
};
const read: McpTool = {
  server: 'fs',
  name: 'read_file',
  description: 'Read a file',
  inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  isReadOnly: true,
};
const write: McpTool = { ...read, name: 'write_file', description: 'Write a file', isReadOnly: false };
const call = (name: string, args: Record<string, unknown> | string) => ({
  id: 'c1.0.0',
  name,
  arguments: args,
});

interface Catalogued {
  tools?: McpTool[];
  /** Tools that are known only once their server has started. */
  sleeping?: McpTool[];
  failed?: { server: string; reason: string }[];
}

function toolSet({ tools = [], sleeping = [], failed = [] }: Catalogued = {}) {
  const called: { name: string; args: unknown }[] = [];
  const started: string[] = [];
  const known = [...tools];
  const servers = {
    names: ['fs'],
    get knownTools() {
      return known;
    },
    catalogue: async () => {
      known.push(...sleeping.splice(0));
      return { tools: known, failed };
    },
    start: async (server: string) => {
      started.push(server);
      known.push(...sleeping.splice(0));
    },
    call: async ({ name }: McpTool, args: unknown) => {
      called.push({ name, args });
      return { status: 'ok', text: 'done' };
    },
  };
  const unused = () => Promise.reject(new Error('unused'));
  const set = new ToolSet({
    memory: { memory: unused, recall: unused },
    clock: { nowMs: () => 0, zone: 'UTC' },
    mcp: [servers as unknown as McpServers],
    callMs: 1000,
  });
  return { set, called, started };
}

test('call_tool runs the tool with the arguments that were meant', async () => {
  const { set, called } = toolSet({ tools: [read] });

  const { text } = await set.run(
    call('call_tool', { name: 'fs/read_file', arguments: '{"path":"/a"}' }),
    context,
  );

  assert.equal(text, 'done');
  assert.deepEqual(called, [{ name: 'read_file', args: { path: '/a' } }]);
});

test('a tool whose server has not started yet is found when it is called', async () => {
  const { set, called } = toolSet({ sleeping: [read] });

  await set.run(call('call_tool', { name: 'fs/read_file', arguments: { path: '/a' } }), context);

  assert.equal(called.length, 1);
});

test('what is decided on is what runs: a bare name decides and runs nothing', async () => {
  const { set, called } = toolSet({ sleeping: [write] });
  const bare = call('call_tool', { name: 'write_file', arguments: { path: '/a' } });

  assert.equal(set.targetOf(bare).name, 'write_file');
  const { status, text } = await set.run(bare, context);

  assert.equal(status, 'error');
  assert.match(text, /Did you mean fs\/write_file/);
  assert.deepEqual(called, []);
});

test('policy and broker see the tool behind call_tool and its arguments', () => {
  const { set } = toolSet({ tools: [read] });
  const wrapped = { name: 'fs/read_file', arguments: { name: 'fs/read_file', arguments: '{"path":"/a"}' } };

  const { name, isCore, arguments: args } = set.targetOf(call('call_tool', wrapped));
  assert.deepEqual({ name, isCore, args }, { name: 'fs/read_file', isCore: false, args: { path: '/a' } });
  assert.deepEqual(set.targetOf(call('clock', {})), { name: 'clock', isCore: true, arguments: {} });
});

test('arguments that do not fit the schema of the tool are named before anybody is asked', async () => {
  await prepareJsonSchemas();
  const { set } = toolSet({ tools: [read] });

  assert.match(
    set.check('call_tool', { name: 'fs/read_file', arguments: {} }) ?? '',
    /fs\/read_file: path is missing/,
  );
  assert.match(
    set.check('call_tool', { name: 'fs/read_file', arguments: { path: 7 } }) ?? '',
    /path must be string/,
  );
  assert.equal(set.check('call_tool', { name: 'fs/read_file', arguments: { path: '/a' } }), undefined);
});

test('a call that cannot be repeated safely is told from one that only reads', () => {
  const { set } = toolSet({ tools: [read, write] });

  assert.equal(set.effectsOf('call_tool', { name: 'fs/read_file', arguments: {} })?.effects, 'none');
  assert.equal(set.effectsOf('call_tool', { name: 'fs/write_file', arguments: {} })?.effects, 'once');
  assert.equal(set.effectsOf('call_tool', { name: 'fs/unknown' })?.effects, 'once');
  assert.equal(set.effectsOf('memory', {})?.effects, 'keyed');
  assert.equal(set.effectsOf('nothing', {}), undefined);
});

test('preparing a call starts the server of its tool alone, and then its effects and its schema are known', async () => {
  await prepareJsonSchemas();
  const { set, started } = toolSet({ sleeping: [read] });
  const name = 'fs/read_file';
  assert.equal(set.effectsOf('call_tool', { name, arguments: { path: '/a' } })?.effects, 'once');

  await set.prepare(call('call_tool', { name, arguments: {} }));
  await set.prepare(call('call_tool', { name, arguments: {} }));
  await set.prepare(call('call_tool', { name: 'other/tool', arguments: {} }));
  await set.prepare(call('call_tool', 'not json'));
  await set.prepare(call('clock', {}));

  assert.deepEqual(started, ['fs']);
  assert.equal(set.effectsOf('call_tool', { name, arguments: { path: '/a' } })?.effects, 'none');
  assert.match(set.check('call_tool', { name, arguments: {} }) ?? '', /path is missing/);
});

test('what was decided on is what runs, though the parameters of the tool were known only later', async () => {
  const inputSchema = { type: 'object', properties: { name: {}, arguments: {} } };
  const { set, called } = toolSet({ sleeping: [{ ...read, name: 'run', inputSchema }] });
  const wrapped = call('call_tool', { name: 'fs/run', arguments: { name: 'fs/run', arguments: { x: 1 } } });
  const decided = set.targetOf(wrapped);

  await set.prepare(wrapped);
  await set.run(wrapped, context);

  assert.deepEqual(called, [{ name: 'run', args: decided.arguments }]);
});

test('a tool of no server that there is, is refused before anybody is asked about it', () => {
  const { set } = toolSet({ tools: [read] });

  for (const name of ['web/search', 'search', '/x', 'fs'])
    assert.match(
      set.check('call_tool', { name, arguments: {} }) ?? '',
      new RegExp(`There is no tool ${name}\\.`),
      name,
    );
  assert.equal(set.check('call_tool', { name: 'fs/not_known_yet', arguments: {} }), undefined);
});

test('a catalogue tool called directly, a core tool called through call_tool and an unknown one get a sentence that helps', () => {
  const { set } = toolSet({ tools: [read] });

  assert.match(set.check('fs/read_file', { path: '/a' }) ?? '', /use call_tool with name "fs\/read_file"/);
  assert.match(set.check('read_file', {}) ?? '', /Use call_tool with name "fs\/read_file"/);
  assert.match(
    set.check('call_tool', { name: 'recall', arguments: {} }) ?? '',
    /recall is one of your own tools: call it directly/,
  );
  assert.match(
    set.check('remember', {}) ?? '',
    /There is no tool remember.*Your tools are clock, recall, memory, find_tool, call_tool/,
  );
  assert.match(set.check('recal', {}) ?? '', /Did you mean recall\?/);
});

test('find_tool shows what a tool needs, and true things about core tools and an empty catalogue', async () => {
  const find = async (catalogued: Catalogued, query: string) =>
    (await toolSet(catalogued).set.run(call('find_tool', { query }), context)).text;

  const found = await find({ tools: [read, write] }, 'read a file');
  assert.match(found, /run one with call_tool:\n\nfs\/read_file: Read a file\n {2}path \(string, required\)/);
  assert.match(await find({}, 'send mail'), /^There are no further tools on this device\.$/);
  assert.match(
    await find({}, 'search earlier sessions'),
    /Your own tools that fit: recall.*Call them directly/,
  );
  assert.match(
    await find({ tools: [read] }, 'zebra'),
    /None of the 1 further tools matches\. There are:\nfs\/read_file/,
  );
  const down = await find({ failed: [{ server: 'fs', reason: 'spawn ENOENT' }] }, 'zebra');
  assert.match(down, /No further tool can be used now\.\n\nThe tools of fs cannot be used now: spawn ENOENT/);
});

test('a tool that never answers is stopped at its limit, and a cancelled turn reaches it', async () => {
  const aborted: boolean[] = [];
  const never = (_: unknown, __: unknown, signal: AbortSignal) =>
    new Promise((resolve) => signal.addEventListener('abort', () => resolve(aborted.push(true))));
  const servers = { names: ['fs'], knownTools: [read], catalogue: () => Promise.resolve({}), call: never };
  const unused = () => Promise.reject(new Error('unused'));
  const set = new ToolSet({
    memory: { memory: unused, recall: unused },
    clock: { nowMs: () => 0 },
    mcp: [servers as unknown as McpServers],
    callMs: -4_990,
  });

  const { status, text } = await set.run(
    call('call_tool', { name: 'fs/read_file', arguments: { path: '/a' } }),
    context,
  );

  assert.equal(status, 'error');
  assert.match(text, /took longer than 10 ms/);
  assert.deepEqual(aborted, [true]);
});

test('arguments that were not JSON are never run as nothing', async () => {
  const { status } = await toolSet().set.run(call('clock', '{"a":'), context);

  assert.equal(status, 'error');
});

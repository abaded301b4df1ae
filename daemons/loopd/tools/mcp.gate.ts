/**
 * Goal: tools of real MCP servers are found and called, and a server that fails does no harm. Method: the reference
 * servers from npm as child processes and over HTTP, behind the tools that a session has.
 */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { McpServerSetting } from '../../../shared/settings.ts';
import type { McpTimes } from './mcp-connection.ts';
import { McpServers } from './mcp.ts';
import { ToolSet } from './tool-set.ts';

const require = createRequire(import.meta.url);
const entryOf = (name: string) => join(dirname(require.resolve(`${name}/package.json`)), 'dist', 'index.js');
const everything = entryOf('@modelcontextprotocol/server-everything');
const never = new AbortController().signal;

function tempFolder(t: TestContext): string {
  // The filesystem server compares real paths.
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'mcp-')));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

function toolsOver(t: TestContext, servers: Record<string, McpServerSetting>, times: Partial<McpTimes> = {}) {
  const mcp = new McpServers(servers, times);
  t.after(() => mcp.stop());
  const unused = () => Promise.reject(new Error('unused'));
  const set = new ToolSet({
    memory: { memory: unused, recall: unused },
    clock: { nowMs: () => 0 },
    mcp: [mcp],
    callMs: 60_000,
  });
  const run = (name: string, args: Record<string, unknown>, signal = never) =>
    set.run(
      { id: 'c1.0.0', name, arguments: args },
      { session: 's', turn: 1, call: 'c1.0.0', key: 's/c1.0.0', signal },
    );
  return { mcp, set, run };
}

const stdio = (entry: string, ...args: string[]): McpServerSetting => ({
  command: process.execPath,
  args: [entry, ...args],
});

test('a file is found, read and written through the filesystem server', async (t) => {
  const folder = tempFolder(t);
  writeFileSync(join(folder, 'note.txt'), 'the fern is watered on Mondays');
  const { run, mcp, set } = toolsOver(t, {
    fs: stdio(entryOf('@modelcontextprotocol/server-filesystem'), folder),
  });
  assert.equal(mcp.states['fs']?.state, 'idle', 'nothing is started before it is needed');

  const found = await run('find_tool', { query: 'read a text file' });
  assert.match(found.text, /^\d+ of \d+ further tools; run one with call_tool:\n\nfs\/read/);
  assert.match(found.text, /path \(string, required\)/);
  const path = join(folder, 'note.txt');
  const read = await run('call_tool', { name: 'fs/read_text_file', arguments: JSON.stringify({ path }) });
  assert.deepEqual(read, { status: 'ok', text: 'the fern is watered on Mondays' });

  assert.match(
    set.check('call_tool', { name: 'fs/read_text_file', arguments: { file: path } }) ?? '',
    /path is missing/,
  );
  assert.equal(
    set.effectsOf('call_tool', { name: 'fs/read_text_file', arguments: { path } })?.effects,
    'none',
  );
  assert.equal(set.effectsOf('call_tool', { name: 'fs/write_file', arguments: { path } })?.effects, 'once');
  const outside = await run('call_tool', { name: 'fs/read_text_file', arguments: { path: '/etc/hostname' } });
  assert.equal(outside.status, 'error', 'what the server refuses is an error');
});

test('entities are stored and found again through the memory server', async (t) => {
  const file = join(tempFolder(t), 'graph.jsonl');
  const { run } = toolsOver(t, {
    graph: { ...stdio(entryOf('@modelcontextprotocol/server-memory')), env: { MEMORY_FILE_PATH: file } },
  });
  const entities = [{ name: 'fern', entityType: 'plant', observations: ['watered on Mondays'] }];

  assert.equal(
    (await run('call_tool', { name: 'graph/create_entities', arguments: { entities } })).status,
    'ok',
  );
  const { text } = await run('call_tool', { name: 'graph/search_nodes', arguments: { query: 'fern' } });

  assert.match(text, /watered on Mondays/);
});

test('a server that dies is started again, after a pause that grows; meanwhile it is said why', async (t) => {
  const { run, mcp } = toolsOver(t, { all: stdio(everything, 'stdio') }, { pauseMs: 200 });
  const echo = () => run('call_tool', { name: 'all/echo', arguments: { message: 'here' } });
  assert.match((await echo()).text, /here/);

  const children = childrenOf(process.pid);
  for (const pid of children) process.kill(pid, 'SIGKILL');
  while (mcp.states['all']?.state === 'ready') await sleep(5);
  const down = await echo();
  assert.equal(down.status, 'error');
  assert.match(down.text, /all cannot be used.*the server ended/);
  await sleep(250);

  assert.match((await echo()).text, /here/);
  assert.equal(mcp.states['all']?.restarts, 1);
});

test('a server that cannot start does not hide the others, and its own words are told', async (t) => {
  const { run } = toolsOver(t, {
    broken: { command: process.execPath, args: ['-e', 'console.error("no licence"); process.exit(3)'] },
    absent: { command: '/nowhere/mcp-server' },
    all: stdio(everything, 'stdio'),
  });

  const { text } = await run('find_tool', { query: 'echo a message' });

  assert.match(text, /all\/echo/);
  assert.match(text, /The tools of broken cannot be used now: .*no licence/);
  assert.match(text, /The tools of absent cannot be used now: .*ENOENT/);
});

test('a call that takes too long is stopped, and a cancelled turn ends its call', async (t) => {
  const { run } = toolsOver(t, { all: stdio(everything, 'stdio') }, { callMs: 300 });
  const long = { name: 'all/trigger-long-running-operation', arguments: { duration: 30, steps: 2 } };

  const late = await run('call_tool', long);
  assert.equal(late.status, 'error');
  assert.match(late.text, /timed out/i);

  const cancel = new AbortController();
  const cancelled = run('call_tool', long, cancel.signal);
  await sleep(50);
  cancel.abort();
  assert.equal((await cancelled).status, 'error');
  assert.match(
    (await run('call_tool', { name: 'all/echo', arguments: { message: 'still here' } })).text,
    /still here/,
  );
});

test('a server over HTTP is used, and used again after it was away', async (t) => {
  const port = await freePort();
  let server = await startHttp(t, port);
  const { run } = toolsOver(t, { web: { url: `http://127.0.0.1:${port}/mcp` } }, { pauseMs: 50 });
  const echo = () => run('call_tool', { name: 'web/echo', arguments: { message: 'over http' } });
  assert.match((await echo()).text, /over http/);

  server.kill('SIGKILL');
  await new Promise((resolve) => server.once('exit', resolve));
  assert.equal((await echo()).status, 'error');
  server = await startHttp(t, port);
  let outcome = await echo();
  for (let tries = 0; outcome.status === 'error' && tries < 100; tries += 1) {
    await sleep(50);
    outcome = await echo();
  }

  assert.match(outcome.text, /over http/);
});

function childrenOf(pid: number): number[] {
  const { execFileSync } = require('node:child_process') as typeof import('node:child_process');
  const lines = execFileSync('ps', ['-o', 'pid=,args=', '--ppid', String(pid)], { encoding: 'utf8' }).split(
    '\n',
  );
  return lines.filter((line) => line.includes('server-everything')).map((line) => Number.parseInt(line, 10));
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });
}

function startHttp(t: TestContext, port: number): Promise<ChildProcess> {
  const child = spawn(process.execPath, [everything, 'streamableHttp'], {
    env: { ...process.env, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  t.after(() => child.kill('SIGKILL'));
  return new Promise((resolve, reject) => {
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (/listening/i.test(said)) resolve(child);
    });
    child.once('exit', () => reject(new Error(`the server ended: ${said}`)));
  });
}

/** Goal: a program that speaks MCP reaches a real memoryd through loopctl. Method: the SDK's own client starts it over stdio. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { sparse } from '../../daemons/memoryd/plane/plane-fixture.ts';
import { programCommand, startDaemon, temporaryHome } from '../../shared/testing/start-daemon.ts';

async function connect(t: TestContext, home: string, ...options: string[]) {
  const [command = '', ...args] = programCommand('scripts/loopctl/main.ts');
  const transport = new StdioClientTransport({ command, args: [...args, 'mcp', '--home', home, ...options] });
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport);
  t.after(() => client.close());
  return async (name: string, args: Record<string, unknown>) => {
    const { isError, content } = await client.callTool({ name, arguments: args });
    const [{ text }] = content as [{ text: string }];
    return isError === true ? { error: text } : (JSON.parse(text) as Record<string, unknown>);
  };
}

test('every tool works through the real daemon', async (t) => {
  const temporary = temporaryHome();
  const { home } = temporary;
  const daemon = await startDaemon('memoryd', home);
  t.after(async () => {
    await daemon.stop();
    temporary.remove();
  });
  const use = await connect(t, home);

  assert.deepEqual(
    (await use('memory', { action: 'add', file: 'user', text: 'Likes green tea.' }))['entries'],
    ['Likes green tea.'],
  );
  assert.deepEqual((await use('memory', { action: 'undo', file: 'user' }))['entries'], []);
  assert.match(
    String((await use('record_episode', { ...sparse.episode, output: 'the kettle boiled over' }))['key']),
    /^ep\/r\//,
  );
  assert.deepEqual(await use('write_scratchpad', { run_id: 'r', key: 'k', value: 'é\u2028' }), {
    key: 'sp/r/k',
  });
  assert.deepEqual(await use('read_scratchpad', { run_id: 'r', key: 'k' }), {
    record: { run_id: 'r', key: 'k', value: 'é\u2028' },
  });
  for (const name of ['read_ledger', 'read_goal_states', 'read_summaries']) {
    assert.deepEqual(await use(name, { run_id: 'r' }), { records: [] });
  }
  const recalled = await use('recall', { query: 'kettle', sources: ['episode'] });
  assert.match(JSON.stringify(recalled['hits']), /the kettle boiled over/);
  const refused = await use('write_scratchpad', { run_id: 'r', key: '', value: '' });
  assert.match(String(refused['error']), /^rejected: /);
});

test('without a daemon a tool answers with the code, and the server lives on', async (t) => {
  const temporary = temporaryHome();
  const { home } = temporary;
  t.after(() => temporary.remove());
  const use = await connect(t, home);
  for (const _ of ['first', 'again']) {
    assert.match(String((await use('read_ledger', { run_id: 'r' }))['error']), /^memory-unavailable: /);
  }
});

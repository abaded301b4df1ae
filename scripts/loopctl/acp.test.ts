/**
 * Goal: an editor of the protocol works through the bridge. Method: the messages of an editor's session, as the
 * protocol's documentation has them, over a bridge to a real channel.
 */
import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import type { RawMessage } from '../../daemons/loopd/testing/channel-clients.ts';
import { Lab, callTool, say } from '../../daemons/loopd/testing/channel-lab.ts';
import { AppError } from '../../shared/errors.ts';
import { bridgeAcp } from './acp.ts';

/** An editor: writes lines to the bridge and reads lines from it. */
class Editor {
  readonly input = new PassThrough();
  readonly output = new PassThrough();
  readonly heard: RawMessage[] = [];
  #rest = '';
  #onMessage = () => {};

  constructor() {
    this.output.on('data', (chunk: Buffer) => {
      const lines = (this.#rest + chunk.toString()).split('\n');
      this.#rest = lines.pop() ?? '';
      for (const line of lines) this.heard.push(JSON.parse(line) as RawMessage);
      this.#onMessage();
    });
  }

  say(message: object): void {
    this.input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  async hears(fits: (message: RawMessage) => boolean): Promise<RawMessage> {
    for (;;) {
      const found = this.heard.find(fits);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => {
        this.#onMessage = resolve;
      });
    }
  }

  async asks(id: number, method: string, params: object): Promise<Record<string, unknown>> {
    this.say({ id, method, params });
    const { result, error } = await this.hears(
      (message) => message.id === id && message.method === undefined,
    );
    assert.ok(result !== undefined, JSON.stringify(error));
    return result;
  }
}

test("an editor's session: initialize, new, a prompt with a file, a permission, cancel, load", async (t) => {
  const lab = await Lab.start(t, {
    policy: { memory: 'ask' },
    steps: [callTool('memory', { action: 'add', text: 'tabs, not spaces' }), say('Saved to memory.')],
  });
  const editor = new Editor();
  const bridge = bridgeAcp({ socketPath: lab.socketPath, input: editor.input, output: editor.output });

  const capabilities = { fs: { readTextFile: true, writeTextFile: true }, terminal: true };
  const agent = await editor.asks(0, 'initialize', { protocolVersion: 1, clientCapabilities: capabilities });
  assert.equal(agent['protocolVersion'], 1);
  const { sessionId } = await editor.asks(1, 'session/new', {
    cwd: '/home/user/project',
    mcpServers: [{ name: 'filesystem', command: '/path/to/mcp-server', args: ['--stdio'], env: [] }],
  });
  const prompt = [
    { type: 'text', text: 'Remember how this file is indented:' },
    {
      type: 'resource',
      resource: {
        uri: 'file:///home/user/project/main.py',
        mimeType: 'text/x-python',
        text: 'def f():\n\tpass',
      },
    },
  ];
  editor.say({ id: 2, method: 'session/prompt', params: { sessionId, prompt } });
  const question = await editor.hears(({ method }) => method === 'session/request_permission');
  const { toolCall, options } = question.params as {
    toolCall: { toolCallId: string };
    options: { optionId: string }[];
  };
  assert.equal(toolCall.toolCallId, 'c1.0.0');
  assert.deepEqual(
    options.map(({ optionId }) => optionId),
    ['allow', 'allow-session', 'deny'],
  );
  editor.say({ id: question.id, result: { outcome: { outcome: 'selected', optionId: 'allow' } } });
  const end = await editor.hears(({ id, method }) => id === 2 && method === undefined);
  assert.equal(end.result?.['stopReason'], 'end_turn');
  assert.deepEqual(lab.memory.entries, ['tabs, not spaces']);
  assert.match(JSON.stringify(lab.requests[0]?.messages), /main\.py[^]*def f\(\):/);

  editor.say({ method: 'session/cancel', params: { sessionId } });
  editor.heard.length = 0;
  await editor.asks(3, 'session/load', { sessionId, cwd: '/home/user/project', mcpServers: [] });
  const kinds = editor.heard
    .filter(({ method }) => method === 'session/update')
    .map(({ params }) => (params as { update: { sessionUpdate: string } }).update.sessionUpdate);
  assert.deepEqual(kinds.slice(0, 4), [
    'user_message_chunk',
    'tool_call',
    'tool_call_update',
    'agent_message_chunk',
  ]);

  editor.input.end();
  await bridge;
});

test('what was asked last is still answered after the editor ended its side', async (t) => {
  const lab = await Lab.start(t);
  const editor = new Editor();
  editor.say({ id: 1, method: 'session/list', params: {} });
  editor.input.end();

  await bridgeAcp({ socketPath: lab.socketPath, input: editor.input, output: editor.output });

  assert.ok((await editor.hears(({ id }) => id === 1)).result);
});

const unavailable = (error: unknown) => error instanceof AppError && error.code === 'loop-unavailable';

test('a loopd that is down, or goes away, is loop-unavailable', async (t) => {
  const { input, output } = new Editor();
  await assert.rejects(
    bridgeAcp({ socketPath: join(tmpdir(), 'no-loopd.sock'), input, output }),
    unavailable,
  );

  const lab = await Lab.start(t);
  const editor = new Editor();
  const bridge = bridgeAcp({ socketPath: lab.socketPath, input: editor.input, output: editor.output });
  await editor.asks(1, 'session/list', {});
  await Promise.all([assert.rejects(bridge, unavailable), lab.stop()]);
});

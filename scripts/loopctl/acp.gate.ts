/**
 * Goal: an editor that starts `loopctl acp` talks to the device. Method: the program as a child process beside both
 * real daemons, driven by the protocol's own SDK over its standard streams.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { Readable, Writable } from 'node:stream';
import { test, type TestContext } from 'node:test';
import { client, ndJsonStream, type ClientContext } from '@agentclientprotocol/sdk';
import {
  programCommand,
  startDaemon,
  temporaryHome,
  type DaemonName,
} from '../../shared/testing/start-daemon.ts';

interface Editor {
  readonly agent: ClientContext;
  readonly heard: string[];
  readonly exited: Promise<number | null>;
  leave(): void;
}

function startEditor(t: TestContext, home: string): Editor {
  const [node = process.execPath, ...rest] = programCommand('scripts/loopctl/main.ts');
  const child = spawn(node, [...rest, 'acp', '--home', home], { stdio: ['pipe', 'pipe', 'ignore'] });
  t.after(() => child.kill('SIGKILL'));
  const heard: string[] = [];
  const stream = ndJsonStream(
    Writable.toWeb(child.stdin),
    Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>,
  );
  const { agent } = client({ name: 'editor' })
    .onNotification('session/update', ({ params: { update } }) => {
      if (update.sessionUpdate === 'agent_message_chunk' && update.content.type === 'text')
        heard.push(update.content.text);
    })
    .connect(stream);
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  return { agent, heard, exited, leave: () => child.stdin.end() };
}

test('an editor remembers something in one session and is told of it in the next', async (t) => {
  const { home, remove } = temporaryHome();
  const start = async (name: DaemonName) => {
    const daemon = await startDaemon(name, home);
    t.after(() => daemon.kill());
  };
  await start('memoryd');
  await start('loopd');
  t.after(remove);
  const editor = startEditor(t, home);
  const where = { cwd: '/home/user/project', mcpServers: [] };
  const ask = async (text: string) => {
    const { sessionId } = await editor.agent.request<{ sessionId: string }>('session/new', where);
    const prompt = [{ type: 'text' as const, text }];
    return editor.agent.request<{ stopReason: string }>('session/prompt', { sessionId, prompt });
  };

  const { protocolVersion } = await editor.agent.request('initialize', { protocolVersion: 1 });
  assert.equal(protocolVersion, 1);
  assert.equal((await ask('Remember that the fern is watered on Mondays')).stopReason, 'end_turn');
  editor.heard.length = 0;
  await ask('What do you know about the fern?');
  assert.match(editor.heard.join(''), /the fern is watered on Mondays/);

  editor.leave();
  assert.equal(await editor.exited, 0);
});

test('without loopd it ends with the status of a daemon that cannot be reached', async (t) => {
  const { home, remove } = temporaryHome();
  t.after(remove);

  assert.equal(await startEditor(t, home).exited, 69);
});

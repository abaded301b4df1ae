/** A home with something of everything, made through the sockets as a device makes it. */
import { writeFileSync, appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '../../../shared/client.ts';
import { homeOf } from '../../../shared/home.ts';
import { memorydProtocol, type MemorydProtocol } from '../../../shared/protocol/memoryd.ts';
import type { Role } from '../../../shared/protocol/method.ts';
import { startDaemon, type RunningDaemon } from '../../../shared/testing/start-daemon.ts';
import { openChannel } from '../channel.ts';

export interface Daemons {
  readonly memoryd: RunningDaemon;
  readonly loopd: RunningDaemon;
  readonly memory: (role?: Role) => Client<MemorydProtocol>;
  readonly stop: () => Promise<void>;
}

export async function startBoth(home: string): Promise<Daemons> {
  const memoryd = await startDaemon('memoryd', home);
  const loopd = await startDaemon('loopd', home);
  const clients: Client<MemorydProtocol>[] = [];
  return {
    memoryd,
    loopd,
    memory: (role = 'ops') => {
      const path = homeOf({ home }).memorySockets[role];
      const client = new Client(path, memorydProtocol, { unavailable: 'memory-unavailable' });
      clients.push(client);
      return client;
    },
    stop: async () => {
      for (const client of clients) client.close();
      await loopd.stop();
      await memoryd.stop();
    },
  };
}

/** Longer than a reply may wait unread as text within text. */
export const longText = '"a\\b"\n'.repeat(500_000);
export const resultText = 'the tide table says "high water"\n'.repeat(300_000);

const run = 'night/ly %1';

/** Every kind of record, a run's name that needs encoding, and one record of several megabytes. */
export async function fillRecords({ memory }: Daemons): Promise<void> {
  const loop = memory('loop');
  const gate = memory('gate');
  const put = (kind: string, record: Record<string, unknown>, runId?: string) =>
    loop.call('record/put', {
      kind: kind as 'episode',
      record,
      ...(runId === undefined ? {} : { run_id: runId }),
    });
  const created_ms = 1_700_000_000_000;
  const episode = {
    run_id: run,
    iteration: 1,
    node_id: 'n',
    role: 'builder',
    provider_id: 'p',
    prompt_digest: 'd',
  };
  await put('episode', { ...episode, output: 'the lighthouse keeper fixed the lamp', created_ms });
  await put('episode', { ...episode, output: longText, created_ms });
  await put('ledger', { run_id: run, iteration: 1, kind: 'run_started', detail: '', created_ms });
  await put('ledger', { run_id: run, iteration: 2, kind: 'run_finished', detail: 'done ✓', created_ms });
  await put('checkpoint', {
    run_id: run,
    iteration: 2,
    completed_nodes: ['n'],
    tokens_used: 5,
    cost_usd: 0.1,
    started_ms: created_ms,
    updated_ms: created_ms,
  });
  await put('scratchpad', { run_id: run, key: '__proto__', value: 'tab\there' });
  await put('summary', { run_id: run, iteration: 1, headline: 'h', facts: ['f'], created_ms });
  const trial = { run_id: run, iteration: 1, node_id: 'n', skill: 's', source: 'own', created_ms };
  await put('skill_trial', { ...trial, pass_rate: 0.5, satisfied: true });
  await put('proposal', {
    run_id: run,
    iteration: 1,
    kind: 'try_skill',
    subject: 's',
    rationale: 'r',
    created_ms,
  });
  const goal = {
    target: 'tests/green',
    passed: 3,
    failed: 0,
    total: 3,
    reason: 'all',
    iteration: 2,
    updated_ms: 1,
  };
  await gate.call('record/put', { kind: 'goal_state', run_id: run, record: { ...goal, satisfied: true } });
  await put('goal_state', { ...goal, target: 'open', satisfied: false }, run);
}

export const filledRun = run;

/** History, an undo, a hand edit that nobody has noticed yet, and a write that waits. */
export async function fillCurated({ memory }: Daemons, home: string): Promise<void> {
  const ops = memory();
  await ops.call('memory', { action: 'add', file: 'memory', text: 'The boiler was replaced in March.' });
  await ops.call('memory', { action: 'replace', file: 'memory', old: 'boiler', text: 'The boiler is new.' });
  await ops.call('memory', { action: 'add', file: 'memory', text: 'A line\n- that looks like two' });
  await ops.call('memory', { action: 'undo', file: 'memory' });
  await ops.call('memory', {
    action: 'add',
    file: 'user',
    text: 'Prefers short answers.',
    reason: 'said so',
  });
  await memory('loop').call('memory', { action: 'add', file: 'user', text: 'Rows on Tuesdays.' });
  appendFileSync(join(home, 'memory/user.md'), '- Written by hand ✍️\n');
}

/** Turns with tool results through loopd, and one session that was forgotten. */
export async function fillSessions(home: string): Promise<{ forgotten: string; kept: string }> {
  const channel = await openChannel(homeOf({ home }).channelSocket);
  const session = async (...texts: string[]) => {
    const { sessionId } = await channel.request<{ sessionId: string }>('session/new', {
      cwd: '/',
      mcpServers: [],
    });
    for (const text of texts)
      await channel.request('session/prompt', { sessionId, prompt: [{ type: 'text', text }] });
    return sessionId;
  };
  const kept = await session('Remember that the ferry leaves at nine.', 'When does the ferry leave?');
  const forgotten = await session('My locker code is 4417.');
  await channel.request('session/delete', { sessionId: forgotten });
  channel.close();
  return { forgotten, kept };
}

/** A log of an earlier day with a result of many megabytes, laid in before loopd starts. */
export function layLongLog(folder: string): string {
  const id = '20260101T000000-long';
  const at = '2026-01-01T00:00:00.000Z';
  const baseline = { system: 's', tools: [], version: '0', tokens: 1 };
  const records = [
    { type: 'session', id, origin: 'person', model: 'builtin', baseline },
    { type: 'turn', turn: 1, text: 'Fetch the tide table.' },
    {
      type: 'assistant',
      turn: 1,
      step: 1,
      text: '',
      calls: [{ id: 'c', name: 'call_tool', arguments: {} }],
      finish: 'tool_calls',
    },
    { type: 'result', turn: 1, call: 'c', status: 'ok', text: resultText, bytes: resultText.length },
    { type: 'assistant', turn: 1, step: 2, text: 'High water is at noon.', finish: 'stop' },
    { type: 'end', turn: 1, outcome: 'answer' },
  ];
  const lines = records.map((record, seq) => JSON.stringify({ v: 1, seq, at, ...record }));
  writeFileSync(join(folder, `${id}.jsonl`), `${lines.join('\n')}\n`, { mode: 0o600 });
  return id;
}

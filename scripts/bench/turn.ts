/**
 * What loopd adds to a turn: two calls of a model that answers at once and one tool, all records durable, beside the
 * same work done by a bare script (the same requests, the same lines appended, the same waits for the disk). The two
 * take turns, so that both meet the same machine. Usage: turn.ts [TURNS]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { SessionRecord } from '../../shared/protocol/sessions.ts';
import { startDaemon, temporaryHome } from '../../shared/testing/start-daemon.ts';
import { LineSplitter } from '../../shared/wire.ts';
import { milliseconds, tableOf } from './table.ts';

process.env['LOOPKEEP_DIST'] ??= '1';
const turns = Number(process.argv[2] ?? 200);
const warmTurns = 20;
/** Both histories grow alike and begin anew after so many turns. */
const turnsPerSession = 20;
const lineBytesMax = 16 * 1024 * 1024;
const said = 'What time is it, and what does that mean for the afternoon?';
const answer = 'It is noon, so the whole afternoon is ahead.';

const rules = [
  { last: 'tool', step: { text: answer, framing: 'all' } },
  { last: 'user', step: { calls: [{ name: 'clock', arguments: '{}' }], framing: 'all' } },
];

interface Message {
  role: string;
  content: string;
  [field: string]: unknown;
}

/** A client of the channel that waits for one reply at a time. */
class LoopClient {
  readonly #socket: Socket;
  #answer: (reply: Record<string, unknown>) => void = () => {};
  #id = 0;

  private constructor(socket: Socket) {
    this.#socket = socket;
    const splitter = new LineSplitter(lineBytesMax);
    socket.on('data', (chunk: Buffer) => {
      for (const line of splitter.push(chunk)) {
        const message = JSON.parse(line ?? '{}') as Record<string, unknown>;
        if (message['method'] === undefined) this.#answer(message);
      }
    });
  }

  static async connect(path: string): Promise<LoopClient> {
    const socket = connect(path);
    await once(socket, 'connect');
    return new LoopClient(socket);
  }

  async call(method: string, params: object): Promise<Record<string, unknown>> {
    this.#id += 1;
    const reply = new Promise<Record<string, unknown>>((resolve) => (this.#answer = resolve));
    this.#socket.write(`${JSON.stringify({ jsonrpc: '2.0', id: this.#id, method, params })}\n`);
    const { result, error } = (await reply) as { result?: Record<string, unknown>; error?: unknown };
    if (result === undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
    return result;
  }

  close(): void {
    this.#socket.destroy();
  }
}

/** The bare script: it asks, appends and waits for the disk as loopd does, and does nothing else. */
class BareTurns {
  readonly #agent = new Agent({ keepAlive: true });
  readonly #url: string;
  readonly #file: FileHandle;
  readonly #lines: readonly { line: string; sync: boolean }[];
  readonly #tools: unknown;
  readonly #system: string;
  #messages: Message[] = [];

  /** Appends what a log of loopd holds of one turn. */
  constructor(url: string, file: FileHandle, records: readonly SessionRecord[]) {
    const [session, ...rest] = records;
    if (session?.type !== 'session') throw new Error('the log has no session record');
    this.#url = url;
    this.#file = file;
    this.#tools = session.baseline.tools;
    this.#system = session.baseline.system;
    this.#lines = rest.map((record) => ({ line: `${JSON.stringify(record)}\n`, sync: isSynced(record) }));
    this.begin();
  }

  begin(): void {
    this.#messages = [{ role: 'system', content: this.#system }];
  }

  async turn(): Promise<void> {
    const [turn, asked, decision, result, said_, end] = this.#lines;
    await this.#append(turn);
    this.#messages.push({ role: 'user', content: said });
    const call = (await this.#ask()).calls[0];
    await this.#append(asked);
    await this.#append(decision);
    this.#messages.push({ role: 'assistant', content: '', tool_calls: [call] });
    this.#messages.push({ role: 'tool', tool_call_id: call?.id ?? '', content: new Date().toString() });
    await this.#append(result);
    const { text } = await this.#ask();
    if (text !== answer) throw new Error(`the bare script read ${JSON.stringify(text)}`);
    this.#messages.push({ role: 'assistant', content: text });
    await this.#append(said_);
    await this.#append(end);
  }

  close(): void {
    this.#agent.destroy();
  }

  async #append(made: { line: string; sync: boolean } | undefined): Promise<void> {
    if (made === undefined) throw new Error('a turn has six records');
    await this.#file.write(made.line);
    if (made.sync) await this.#file.datasync();
  }

  async #ask(): Promise<{ text: string; calls: { id: string }[] }> {
    const body = JSON.stringify({
      model: 'fake',
      tools: this.#tools,
      messages: this.#messages,
      tool_choice: 'auto',
      max_tokens: 1024,
      stream: true,
      stream_options: { include_usage: true },
      id_slot: 0,
    });
    const asked = request(`${this.#url}/v1/chat/completions`, {
      method: 'POST',
      agent: this.#agent,
      headers: { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) },
    });
    asked.end(body);
    const [response] = (await once(asked, 'response')) as [AsyncIterable<Buffer>];
    const pieces: Buffer[] = [];
    for await (const piece of response) pieces.push(piece);
    return replyOf(Buffer.concat(pieces).toString());
  }
}

/** What loopd waits for the disk with; the others are covered by the next one that does. */
function isSynced(record: SessionRecord): boolean {
  return (
    record.type === 'turn' ||
    record.type === 'end' ||
    (record.type === 'assistant' && record.calls !== undefined)
  );
}

function replyOf(stream: string): { text: string; calls: { id: string }[] } {
  let text = '';
  const calls: { id: string }[] = [];
  for (const line of stream.split('\n')) {
    if (!line.startsWith('data: {')) continue;
    const { choices } = JSON.parse(line.slice('data: '.length)) as {
      choices: { delta: { content?: string | null; tool_calls?: { id?: string; function: object }[] } }[];
    };
    const delta = choices[0]?.delta;
    text += delta?.content ?? '';
    for (const call of delta?.tool_calls ?? [])
      if (call.id !== undefined) calls.push({ ...call, id: call.id });
  }
  return { text, calls };
}

interface Times {
  readonly loopd: number[];
  readonly bare: number[];
}

async function measure(client: LoopClient, url: string, folder: string, home: string): Promise<Times> {
  const times: Times = { loopd: [], bare: [] };
  const file = await open(join(folder, 'bare.jsonl'), 'a');
  const newSession = async () =>
    String((await client.call('session/new', { cwd: '/', mcpServers: [] }))['sessionId']);
  const ask = (sessionId: string) =>
    client.call('session/prompt', { sessionId, prompt: [{ type: 'text', text: said }] });
  let session = await newSession();
  await ask(session);
  const records = readFileSync(join(home, 'sessions', `${session}.jsonl`), 'utf8')
    .trimEnd()
    .split('\n');
  const bare = new BareTurns(
    url,
    file,
    records.map((line) => JSON.parse(line) as SessionRecord),
  );
  for (let at = -warmTurns; at < turns; at += 1) {
    if (at % turnsPerSession === 0) {
      session = await newSession();
      bare.begin();
    }
    const loopdMs = await timed(() => ask(session));
    const bareMs = await timed(() => bare.turn());
    if (at < 0) continue;
    times.loopd.push(loopdMs);
    times.bare.push(bareMs);
  }
  bare.close();
  await file.close();
  return times;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

function quantile(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** The model in a process of its own, as a real one is. */
async function startModel(): Promise<{ url: string; stop: () => void }> {
  const main = new URL('../../daemons/loopd/testing/fake-model-main.ts', import.meta.url).pathname;
  const options = JSON.stringify({ rules, slots: 2, contextTokens: 65_536 });
  const child = spawn(process.execPath, ['--import', import.meta.resolve('tsx'), main, options], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  return { url: (JSON.parse(line) as { url: string }).url, stop: () => void child.kill() };
}

const { home, remove } = temporaryHome();
const folder = mkdtempSync(join(tmpdir(), 'bench-turn-'));
const model = await startModel();
writeFileSync(join(home, 'loopd.toml'), `[model]\nurl = "${model.url}"\ntitles = false\n`);
const memoryd = await startDaemon('memoryd', home);
const loopd = await startDaemon('loopd', home);
try {
  const client = await LoopClient.connect(join(home, 'run', 'channel', 'loop.sock'));
  const times = await measure(client, model.url, folder, home);
  client.close();
  const row = (name: string, measured: readonly number[]) => [
    name,
    ...[0.5, 0.9, 0.99].map((share) => milliseconds(quantile(measured, share))),
  ];
  const ratio = quantile(times.loopd, 0.5) / quantile(times.bare, 0.5);
  const rows = [row('loopd', times.loopd), row('bare script', times.bare)];
  process.stdout.write(
    `${turns} turns of two model calls and one tool, all records durable\n\n${tableOf(['', 'p50 ms', 'p90 ms', 'p99 ms'], rows)}\n\nbench-turn: loopd takes ${ratio.toFixed(2)} times as long as the bare script (median)\n`,
  );
} finally {
  model.stop();
  await loopd.stop();
  await memoryd.stop();
  rmSync(folder, { recursive: true, force: true });
  remove();
}

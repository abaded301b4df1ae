/** A loopd that is killed again and again while turns run in it, and what its logs must hold afterwards. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { SessionRecord, SessionRecordOf, SessionRecordType } from '../../../shared/protocol/sessions.ts';
import { startDaemon, type RunningDaemon } from '../../../shared/testing/start-daemon.ts';
import { RawClient } from './channel-clients.ts';
import type { Seeded } from './seeded.ts';

interface LaneOptions {
  readonly home: string;
  readonly memorySocket: string;
  readonly modelUrl: string;
  readonly effectsUrl: string;
}

/** What one schedule did: for the check of all effects at the end, and to show that kills came everywhere. */
export interface Crashed {
  readonly said: string;
  readonly session: string;
  /** The newest record at the first kill; undefined where the turn was not accepted by then. */
  readonly at: SessionRecordType | undefined;
  readonly sent: SessionRecordOf<'result'>['status'];
}

const turnsMax = 3;
/** Further kills after the first one. */
const furtherKills = [0, 0, 1, 2] as const;
/** Kills come after so many messages of loopd, and so long after that. */
const messagesMax = 24;
const afterMessageMsMax = 6;
/** Or so long after the prompts were sent. */
const afterPromptMsMax = 120;
/** Or so long after a start. */
const afterStartMsMax = 600;

export class CrashLane {
  readonly #options: LaneOptions;
  #loopd: RunningDaemon | undefined;

  constructor(options: LaneOptions) {
    this.#options = options;
    const { home, memorySocket, modelUrl, effectsUrl } = options;
    mkdirSync(home, { recursive: true });
    writeFileSync(
      join(home, 'loopd.toml'),
      [
        `[memory]\nsocket = "${memorySocket}"`,
        `[model]\nurl = "${modelUrl}"\ntitles = false`,
        '[policy]\n"effects/*" = "allow"',
        `[mcp.servers.effects]\nurl = "${effectsUrl}"\n`,
      ].join('\n'),
    );
  }

  async stop(): Promise<void> {
    await this.#loopd?.kill();
  }

  /** Some turns at once, loopd killed in the middle of them and of what follows, then everything brought to its end. */
  async schedule(name: string, random: Seeded): Promise<Crashed[]> {
    const says = Array.from({ length: 1 + random.below(turnsMax) }, (_, at) => `errand ${name}.${at}`);
    const loopd = (this.#loopd ??= await this.#start());
    const client = await this.#client();
    const sessions: string[] = [];
    for (const said of says) sessions.push(await newSession(client, said));
    const before = client.messages.length;
    for (const [at, said] of says.entries()) sendPrompt(client, sessions[at] ?? '', said);
    await killMoment(client, before, random);
    await loopd.kill();
    const atKill = sessions.map((session) => this.#accepted(session));

    const further = furtherKills[random.below(furtherKills.length)] ?? 0;
    for (let kills = 0; kills < further; kills += 1) await this.#startAndKill(random);
    for (const [at, session] of sessions.entries())
      if (atKill[at] !== undefined) assert.ok(this.#accepted(session), `${says[at]}: its turn was lost`);
    this.#loopd = await this.#start();
    const again = await this.#client();
    for (const [at, said] of says.entries()) sendPrompt(again, sessions[at] ?? '', said);
    for (const said of says) {
      const { result, error } = await again.reply(`${said} prompt`);
      assert.equal(result?.['stopReason'], 'end_turn', `${said}: ${JSON.stringify(error)}`);
    }
    client.socket.destroy();
    again.socket.destroy();
    return says.map((said, at) => {
      const session = sessions[at] ?? '';
      return { said, session, at: atKill[at], sent: checkedLog(this.records(session), said) };
    });
  }

  records(session: string): SessionRecord[] {
    const text = readFileSync(join(this.#options.home, 'sessions', `${session}.jsonl`), 'utf8');
    const lines = text.split('\n');
    // After a kill the last one may be cut.
    lines.pop();
    return lines.map((line) => JSON.parse(line) as SessionRecord);
  }

  /** The newest record of a session with a turn. */
  #accepted(session: string): SessionRecordType | undefined {
    const records = this.records(session);
    return records.some(({ type }) => type === 'turn') ? records.at(-1)?.type : undefined;
  }

  #start(): Promise<RunningDaemon> {
    return startDaemon('loopd', this.#options.home);
  }

  /** Killed while it starts, or while it goes on with what the last kill broke off. */
  async #startAndKill(random: Seeded): Promise<void> {
    let kill = () => {};
    const starting = startDaemon('loopd', this.#options.home, {
      onSpawn: (child) => (kill = () => void child.kill('SIGKILL')),
    });
    if (random.below(2) === 0) {
      await wait(random.below(afterStartMsMax));
      kill();
      await starting.then((loopd) => loopd.kill()).catch(() => undefined);
      return;
    }
    const loopd = await starting;
    await wait(random.below(afterPromptMsMax));
    await loopd.kill();
  }

  async #client(): Promise<RawClient> {
    const path = join(this.#options.home, 'run', 'channel', 'loop.sock');
    return new RawClient(
      await new Promise<Socket>((resolve, reject) => {
        const socket = connect(path, () => resolve(socket));
        socket.once('error', reject);
      }),
    );
  }
}

async function newSession(client: RawClient, said: string): Promise<string> {
  const id = `${said} new`;
  client.write({ id, method: 'session/new', params: { cwd: '/', mcpServers: [] } });
  const { result, error } = await client.reply(id);
  assert.equal(typeof result?.['sessionId'], 'string', JSON.stringify(error));
  return String(result?.['sessionId']);
}

function sendPrompt(client: RawClient, sessionId: string, said: string): void {
  const prompt = [{ type: 'text', text: said }];
  client.write({
    id: `${said} prompt`,
    method: 'session/prompt',
    params: { sessionId, prompt, _meta: { request_id: said } },
  });
}

/** Half of the kills follow the clock, half what loopd said, so that every state is met however fast the machine is. */
async function killMoment(client: RawClient, before: number, random: Seeded): Promise<void> {
  if (random.below(2) === 0) return wait(random.below(afterPromptMsMax));
  const wanted = before + random.below(messagesMax);
  const isOver = () => client.messages.slice(before).some(({ id, method }) => id !== undefined && !method);
  while (client.messages.length < wanted && !isOver()) await wait(1);
  return wait(random.below(afterMessageMsMax));
}

const callsMade = 3;

/** @returns how the call without a key ended */
function checkedLog(records: readonly SessionRecord[], said: string): Crashed['sent'] {
  const of = <T extends SessionRecordType>(type: T) =>
    records.filter((record) => record.type === type) as unknown as SessionRecordOf<T>[];
  assert.deepEqual(
    records.map(({ seq }) => seq),
    records.map((_, at) => at),
    `${said}: seq has a gap`,
  );
  assert.deepEqual(
    of('turn').map(({ text }) => text),
    [said],
    `${said}: its turn is there once`,
  );
  assert.deepEqual(
    of('end').map(({ outcome }) => outcome),
    ['answer'],
    said,
  );
  const calls = of('assistant').flatMap((record) => record.calls ?? []);
  assert.equal(calls.length, callsMade, `${said}: ${JSON.stringify(records.slice(1))}`);
  const result = (id: string) => {
    const found = of('result').filter(({ call }) => call === id);
    assert.equal(found.length, 1, `${said}: ${id} has one result`);
    return found[0]!;
  };
  const [look, memory, send] = calls.map(({ id }) => result(id));
  assert.deepEqual([look?.status, look?.text], ['ok', 'look done'], `${said}: what only reads is read again`);
  assert.equal(memory?.status, 'ok', `${said}: ${memory?.text}`);
  const saved = JSON.parse(memory.text) as { changed: unknown[] };
  assert.equal(saved.changed.length, 1, `${said}: what has a key is done once and answered alike`);
  const sent = send!.status;
  assert.ok(sent === 'ok' || sent === 'interrupted', `${said}: ${sent} ${send?.text}`);
  return sent;
}

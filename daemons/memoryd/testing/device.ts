/** A device for tests: a home with session logs written by hand, and a real memoryd that is asked over its sockets. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '../../../shared/client.ts';
import { homeOf } from '../../../shared/home.ts';
import {
  memorydProtocol,
  type MemorydProtocol,
  type RecallParams,
} from '../../../shared/protocol/memoryd.ts';
import type { Hit, RecallReply } from '../../../shared/protocol/replies.ts';
import type { Role } from '../../../shared/protocol/method.ts';
import type { SessionBodies, SessionBody } from '../../../shared/protocol/sessions.ts';
import { startDaemon, temporaryHome, type RunningDaemon } from '../../../shared/testing/start-daemon.ts';

const nobody = 65534;
const unavailable = 'memory-unavailable';
const startMs = Date.UTC(2026, 9, 1, 12);
const minuteMs = 60_000;

/** A record as a test writes it down; `v`, `seq` and, where it is left out, `at` are filled in. */
export type Written = SessionBody & { readonly at?: string };

export const person = (
  text: string,
  more: Partial<SessionBodies['turn']> & { at?: string } = {},
): Written => ({
  type: 'turn',
  turn: 0,
  text,
  ...more,
});

export const assistant = (
  text: string,
  more: Partial<SessionBodies['assistant']> & { at?: string } = {},
): Written => ({
  type: 'assistant',
  turn: 0,
  step: 0,
  finish: 'stop',
  usage: { completion_tokens: 9 },
  text,
  ...more,
});

export const toolResult = (call: string, text: string): Written => ({
  type: 'result',
  turn: 0,
  call,
  status: 'ok',
  text,
  bytes: Buffer.byteLength(text),
});

export class Device {
  readonly home: string;
  readonly sessions: string;
  readonly memory: string;
  readonly store: string;
  readonly index: string;
  readonly #remove: () => void;
  readonly #seqs = new Map<string, number>();
  readonly #clients = new Map<Role, Client<MemorydProtocol>>();
  #daemon: RunningDaemon | undefined;
  #minutes = 0;

  constructor({ config = '' }: { config?: string } = {}) {
    const { home, remove } = temporaryHome();
    const parts = homeOf({ home });
    this.home = home;
    this.sessions = parts.sessions;
    this.memory = parts.memory;
    this.store = parts.store;
    this.index = join(parts.store, 'index');
    this.#remove = remove;
    mkdirSync(this.sessions, { recursive: true });
    if (config !== '') writeFileSync(join(home, 'memoryd.toml'), config);
  }

  get daemon(): RunningDaemon {
    assert.ok(this.#daemon, 'memoryd runs');
    return this.#daemon;
  }

  /** The client of a role; the operator may ask everything but satisfied rulings. */
  as(role: Role): Client<MemorydProtocol> {
    let client = this.#clients.get(role);
    if (client === undefined) {
      const path = homeOf({ home: this.home }).memorySockets[role];
      client = new Client(path, memorydProtocol, { unavailable, connectMs: 5000 });
      this.#clients.set(role, client);
    }
    return client;
  }

  get client(): Client<MemorydProtocol> {
    return this.as('ops');
  }

  async start(env: NodeJS.ProcessEnv = {}): Promise<this> {
    this.#daemon = await startDaemon('memoryd', this.home, { env });
    return this;
  }

  /** As a user for whom permissions count, also where the test runs as root. */
  async startUnprivileged(): Promise<this> {
    const isRoot = process.getuid?.() === 0;
    if (isRoot) execFileSync('chown', ['-R', `${nobody}:${nobody}`, this.home]);
    const become = `data:text/javascript,process.setegid(${nobody});process.seteuid(${nobody})`;
    this.#daemon = await startDaemon('memoryd', this.home, { nodeArgs: isRoot ? ['--import', become] : [] });
    return this;
  }

  async stop(): Promise<number | null> {
    return (await this.#daemon?.stop()) ?? null;
  }

  async kill(): Promise<void> {
    await this.#daemon?.kill();
  }

  /** For `after`. */
  async end(): Promise<void> {
    for (const client of this.#clients.values()) client.close();
    await this.kill();
    this.#remove();
  }

  path(session: string): string {
    return join(this.sessions, `${session}.jsonl`);
  }

  /** The lines of records to come next in a session, its header before the first; each with its line end. */
  lines(
    session: string,
    records: readonly Written[],
    header: Partial<SessionBodies['session']> = {},
  ): string[] {
    const first = this.#seqs.get(session) ?? 0;
    const baseline = { system: 'Be kind.', tools: [], version: '', tokens: 3 };
    const whole: Written[] = [
      ...(first === 0
        ? [{ type: 'session', id: session, origin: 'person', model: 'm', baseline, ...header } as Written]
        : []),
      ...records,
    ];
    this.#seqs.set(session, first + whole.length);
    return whole.map((record, at) => {
      this.#minutes += 1;
      const time = new Date(startMs + this.#minutes * minuteMs).toISOString();
      return `${JSON.stringify({ v: 1, seq: first + at, at: time, ...record })}\n`;
    });
  }

  append(session: string, bytes: string | Uint8Array): void {
    appendFileSync(this.path(session), bytes);
  }

  /** Writes records to the log of a session and waits until they can be found. */
  async told(
    session: string,
    records: readonly Written[],
    header: Partial<SessionBodies['session']> = {},
  ): Promise<void> {
    this.append(session, this.lines(session, records, header).join(''));
    await this.updated(session);
  }

  /** A person said this, in a session. */
  async said(session: string, ...texts: string[]): Promise<void> {
    await this.told(
      session,
      texts.map((text) => person(text)),
    );
  }

  /** Until nothing of the session is behind. */
  async updated(session: string): Promise<number> {
    for (;;) {
      const { indexed, behind } = await this.client.call('updated', { session });
      if (behind === 0) return indexed;
    }
  }

  /** Until the index holds everything, also one that is damaged now and has nothing to answer with. */
  async caughtUp(): Promise<void> {
    for (;;) {
      const { index } = await this.client.call('status', {});
      if (index.state === 'ok' && index.behind === 0) return;
      await sleep(20);
    }
  }

  recall(query: string, params: Partial<RecallParams> = {}): Promise<RecallReply> {
    return this.client.call('recall', { query, window: 0, ...params });
  }

  async hits(query: string, params: Partial<RecallParams> = {}): Promise<Hit[]> {
    return (await this.recall(query, params)).hits;
  }

  /** Sessions in the order of their first hit. */
  async sessionsOf(query: string, params: Partial<RecallParams> = {}): Promise<string[]> {
    return [...new Set((await this.hits(query, params)).map(({ session = '' }) => session))];
  }

  async texts(query: string, params: Partial<RecallParams> = {}): Promise<string[]> {
    return (await this.hits(query, params)).map(({ text }) => text);
  }

  deleteLog(session: string): void {
    rmSync(this.path(session));
    this.#seqs.delete(session);
  }

  async rssBytes(): Promise<number> {
    return Number((await this.client.call('status', {}))['memory_rss_bytes']);
  }
}

/** A memoryd of its own in a fresh home, with session logs written as loopd writes them. */
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '../../shared/client.ts';
import { homeOf } from '../../shared/home.ts';
import { memorydProtocol, type MemorydProtocol } from '../../shared/protocol/memoryd.ts';
import { sessionLogSuffix, sessionRecordVersion } from '../../shared/protocol/sessions.ts';
import { startDaemon, temporaryHome, type RunningDaemon } from '../../shared/testing/start-daemon.ts';
import type { ImportedSession } from '../import/imported-session.ts';

const baseline = { system: '', tools: [], version: '0'.repeat(64), tokens: 0 };
const startMs = 10_000;

export class MemorydHome {
  readonly home: string;
  readonly sessions: string;
  readonly indexDir: string;
  readonly #remove: () => void;
  #daemon: RunningDaemon | undefined;
  #client: Client<MemorydProtocol> | undefined;

  constructor() {
    const { home, remove } = temporaryHome();
    const parts = homeOf({ home });
    this.home = home;
    this.sessions = parts.sessions;
    this.indexDir = join(parts.store, 'index');
    this.#remove = remove;
    mkdirSync(this.sessions, { recursive: true });
  }

  get client(): Client<MemorydProtocol> {
    if (this.#client === undefined) throw new Error('memoryd was not started');
    return this.#client;
  }

  get pid(): number {
    return this.#daemon?.pid ?? 0;
  }

  async start(): Promise<void> {
    this.#daemon = await startDaemon('memoryd', this.home);
    this.#client = new Client(homeOf({ home: this.home }).memorySockets.ops, memorydProtocol, {
      unavailable: 'memory-unavailable',
      connectMs: startMs,
    });
  }

  writeSession({ id, origin, title, startedAt, records }: ImportedSession): void {
    const header = {
      type: 'session',
      id,
      origin,
      ...(title === undefined ? {} : { title }),
      model: '',
      baseline,
    };
    const lines = [{ ...header, at: startedAt }, ...records].map((record, seq) =>
      JSON.stringify({ v: sessionRecordVersion, seq, ...record }),
    );
    writeFileSync(join(this.sessions, id + sessionLogSuffix), `${lines.join('\n')}\n`);
  }

  /** Everything that is on the disk can be found when this returns. */
  async caughtUp(): Promise<void> {
    for (;;) {
      const { index } = await this.client.call('recall', { query: 'anything', limit: 1 });
      if (index.state === 'ok' && index.behind === 0) return;
      await new Promise((resolve) => setTimeout(resolve, pollMs));
    }
  }

  diskBytes(): number {
    return readdirSync(this.indexDir).reduce(
      (sum, name) => sum + statSync(join(this.indexDir, name)).size,
      0,
    );
  }

  async residentBytes(): Promise<number> {
    const { memory_rss_bytes: bytes } = await this.client.call('status', {});
    return typeof bytes === 'number' ? bytes : Number.NaN;
  }

  async stop(): Promise<void> {
    this.#client?.close();
    await this.#daemon?.stop();
  }

  remove(): void {
    this.#remove();
  }
}

const pollMs = 50;

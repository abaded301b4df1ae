/** For tests: a curated memory on real files and a real record store, in a folder of its own. */
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { AppError, type ErrorCode } from '../../../shared/errors.ts';
import type { MemoryParams } from '../../../shared/protocol/memoryd.ts';
import type { MemoryReply } from '../../../shared/protocol/replies.ts';
import type { Role } from '../../../shared/protocol/method.ts';
import type { RecordStore } from '../store/record-store.ts';
import { RequestLedger } from '../store/requests.ts';
import type { TestHome } from '../store/test-home.ts';
import { CuratedMemory, type CuratedMemoryOptions } from './curated-memory.ts';

export const limits = { memory: 2200, user: 1375 };

/** A second later each time it is asked. */
export class TestClock {
  ms = Date.UTC(2026, 10, 30, 12);

  tick(): number {
    this.ms += 1000;
    return this.ms;
  }
}

type FixtureOptions = Partial<CuratedMemoryOptions> & { at?: string; clock?: TestClock };

export class CuratedFixture {
  readonly dir: string;
  readonly store: RecordStore;
  readonly memory: CuratedMemory;
  private constructor(dir: string, store: RecordStore, memory: CuratedMemory) {
    this.dir = dir;
    this.store = store;
    this.memory = memory;
  }

  static async open(
    home: TestHome,
    { at = home.freshDir(), clock = new TestClock(), ...options }: FixtureOptions = {},
  ): Promise<CuratedFixture> {
    const dir = options.dir ?? join(dirname(dirname(at)), 'memory');
    const store = await home.open(at);
    const memory = await CuratedMemory.open({
      dir,
      store,
      requests: new RequestLedger(store, () => clock.ms),
      limits,
      review: false,
      nowMs: () => clock.tick(),
      ...options,
    });
    return new CuratedFixture(dir, store, memory);
  }

  async call(params: MemoryParams, role: Role = 'loop'): Promise<MemoryReply> {
    return await this.memory.apply({ file: 'memory', ...params }, { role, method: 'memory' });
  }

  async add(...texts: string[]): Promise<MemoryReply> {
    let reply = await this.call({ action: 'view' });
    for (const text of texts) reply = await this.call({ action: 'add', text });
    return reply;
  }

  async entries(file: 'memory' | 'user' = 'memory'): Promise<string[]> {
    return (await this.call({ action: 'view', file })).entries;
  }

  path(name = 'memory.md'): string {
    return join(this.dir, name);
  }

  text(name = 'memory.md'): string {
    return readFileSync(this.path(name), 'utf8');
  }

  /** What a person's editor does, in place. */
  write(text: string | Uint8Array, name = 'memory.md'): void {
    writeFileSync(this.path(name), text);
  }

  async stop(): Promise<void> {
    await this.memory.settled();
    await this.store.close();
  }
}

/** For `assert.rejects`: an error of that code, with these details among its own. */
export function refusal(code: ErrorCode, details: Record<string, unknown> = {}) {
  return (error: unknown): true => {
    if (!(error instanceof AppError)) throw error;
    const told = Object.fromEntries(Object.keys(details).map((name) => [name, error.details[name]]));
    const [is, should] = [
      { code: error.code, ...told },
      { code, ...details },
    ].map((it) => JSON.stringify(it));
    if (is !== should) throw new Error(`expected ${should}, got ${is}: ${error.message}`);
    return true;
  };
}

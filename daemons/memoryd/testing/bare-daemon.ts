/** A memoryd in a home of its own, asked by hand: each request on a connection of its own, and what tests write beside it. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before } from 'node:test';
import type { Role } from '../../../shared/protocol/method.ts';
import { startDaemon, temporaryHome, type RunningDaemon } from '../../../shared/testing/start-daemon.ts';
import { openWire, type Answer, type Wire } from './wire.ts';

const at = '2026-11-01T10:00:00.000Z';

export class BareDaemon {
  readonly home: string;
  readonly #remove: () => void;
  readonly #wires: Wire[] = [];
  #memoryd: RunningDaemon | undefined;

  constructor() {
    const { home, remove } = temporaryHome();
    this.home = home;
    this.#remove = remove;
  }

  /** For a whole test file: started before its first test, gone after its last. */
  static forAll(): BareDaemon {
    const bare = new BareDaemon();
    before(() => bare.start());
    after(() => bare.end());
    return bare;
  }

  get memoryd(): RunningDaemon {
    if (this.#memoryd === undefined) throw new Error('memoryd was not started');
    return this.#memoryd;
  }

  /** With no umask at all: what it makes is closed to others by itself. */
  async start(env: NodeJS.ProcessEnv = {}): Promise<void> {
    const umask = process.umask(0);
    try {
      this.#memoryd = await startDaemon('memoryd', this.home, { env });
    } finally {
      process.umask(umask);
    }
  }

  async end(): Promise<void> {
    for (const wire of this.#wires) wire.close();
    await this.#memoryd?.kill();
    this.#remove();
  }

  path(...parts: string[]): string {
    return join(this.home, ...parts);
  }

  socket(role: Role): string {
    return this.path('run', `${role}-memory`, 'memory.sock');
  }

  async wire(role: Role = 'loop'): Promise<Wire> {
    const wire = await openWire(this.socket(role));
    this.#wires.push(wire);
    return wire;
  }

  async ask(method: string, params: object = {}, role: Role = 'loop'): Promise<Answer> {
    const wire = await openWire(this.socket(role));
    const answer = await wire.ask(method, params);
    wire.close();
    return answer;
  }

  /** A session log with a turn of the person for each text. */
  writeLog(id: string, texts: readonly string[]): void {
    const baseline = { system: 's', tools: [], version: '', tokens: 0 };
    const lines = [
      { v: 1, seq: 0, at, type: 'session', id, origin: 'person', model: 'm', baseline },
      ...texts.map((text, turn) => ({ v: 1, seq: turn + 1, at, type: 'turn', turn: turn + 1, text })),
    ];
    mkdirSync(this.path('sessions'), { recursive: true });
    writeFileSync(
      this.path('sessions', `${id}.jsonl`),
      lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
    );
  }
}

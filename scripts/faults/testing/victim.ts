/** A daemon that is made to be killed: at any moment of its start, its work or its stop. */
import { spawn, type ChildProcess } from 'node:child_process';
import { programCommand, type DaemonName } from '../../../shared/testing/start-daemon.ts';

const outputCharsMax = 20_000;

export interface VictimOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly uid?: number;
  readonly gid?: number;
  /** A command that runs the daemon, as a shell that lowers a limit first. */
  readonly wrap?: readonly string[];
}

export class Victim {
  readonly child: ChildProcess;
  /** True at its ready line; false where it ended before. */
  readonly ready: Promise<boolean>;
  readonly ended: Promise<{ status: number | null; signal: NodeJS.Signals | null }>;
  #output = '';

  constructor(name: DaemonName, home: string, { env, wrap = [], ...rest }: VictimOptions = {}) {
    const [program, ...args] = [
      ...wrap,
      ...programCommand(`daemons/${name}/main.ts`),
      'serve',
      '--home',
      home,
    ];
    this.child = spawn(program, args, {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      ...rest,
    });
    this.ended = new Promise((resolve) => {
      this.child.once('close', (status, signal) => resolve({ status, signal }));
    });
    const isUp = new Promise<boolean>((resolve) => {
      const take = (chunk: Buffer) => {
        this.#output = (this.#output + chunk.toString()).slice(-outputCharsMax);
        if (this.#output.includes('"msg":"ready"')) resolve(true);
      };
      this.child.stdout?.on('data', take);
      this.child.stderr?.on('data', take);
    });
    this.ready = Promise.race([isUp, this.ended.then(() => false)]);
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** The end of what it wrote. */
  get output(): string {
    return this.#output;
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.ended;
  }

  async stop(): Promise<number | null> {
    this.child.kill('SIGTERM');
    return (await this.ended).status;
  }
}

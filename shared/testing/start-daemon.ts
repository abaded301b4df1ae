/** Starts a real daemon as a child process and waits for its ready line: no sleeps, no polling. */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

export type DaemonName = 'memoryd' | 'loopd';

export interface LogLine {
  readonly msg: string;
  readonly level: number;
  readonly code?: string;
  readonly [field: string]: unknown;
}

export interface RunningDaemon {
  readonly pid: number;
  readonly child: ChildProcess;
  /** Log lines so far. */
  readonly lines: LogLine[];
  /** Resolves with the first line that fits, also one that came before. */
  line(fits: (line: LogLine) => boolean): Promise<LogLine>;
  /** SIGTERM, then the exit status. */
  stop(): Promise<number | null>;
  /** SIGKILL. */
  kill(): Promise<void>;
  readonly exited: Promise<number | null>;
}

interface StartOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly args?: readonly string[];
  readonly nodeArgs?: readonly string[];
  /** Hears of the process before it is ready, for whoever wants to end it by then. */
  readonly onSpawn?: (child: ChildProcess) => void;
}

/** The command that runs a program of ours: compiled where LOOPKEEP_DIST is set, from source otherwise. */
export function programCommand(source: string): string[] {
  const dist = process.env['LOOPKEEP_DIST'];
  if (dist) return [process.execPath, join(root, 'dist', source.replace(/\.ts$/, '.js'))];
  return [process.execPath, '--import', import.meta.resolve('tsx'), join(root, source)];
}

/** Resolves when the daemon logs that it is ready; rejects with its output when it ends before that. */
export async function startDaemon(
  name: DaemonName,
  home: string,
  { env = {}, args = [], nodeArgs = [], onSpawn }: StartOptions = {},
): Promise<RunningDaemon> {
  const [node = process.execPath, ...rest] = programCommand(`daemons/${name}/main.ts`);
  const child = spawn(node, [...nodeArgs, ...rest, 'serve', '--home', home, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onSpawn?.(child);
  const daemon = follow(child);
  const ended = daemon.exited.then((status) => {
    throw new Error(`${name} ended with ${status} before it was ready:\n${daemon.output()}`);
  });
  ended.catch(() => undefined);
  await Promise.race([daemon.line(({ msg }) => msg === 'ready'), ended]);
  return daemon;
}

function follow(child: ChildProcess): RunningDaemon & { output(): string } {
  const lines: LogLine[] = [];
  const waiting = new Set<() => void>();
  let output = '';
  let tail = '';
  const take = (chunk: Buffer) => {
    output += chunk.toString();
    const parts = (tail + chunk.toString()).split('\n');
    tail = parts.pop() ?? '';
    for (const part of parts) if (part.startsWith('{')) lines.push(JSON.parse(part) as LogLine);
    for (const look of waiting) look();
  };
  child.stdout?.on('data', take);
  child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const exited = new Promise<number | null>((resolve) => child.once('close', (status) => resolve(status)));
  return {
    pid: child.pid ?? 0,
    child,
    lines,
    exited,
    output: () => output,
    line: (fits) =>
      new Promise((resolve) => {
        const look = () => {
          const found = lines.find(fits);
          if (found === undefined) return;
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        look();
      }),
    stop: () => {
      child.kill('SIGTERM');
      return exited;
    },
    kill: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

/** A fresh home whose path is short enough for sockets, and what removes it again. */
export function temporaryHome(): { home: string; remove: () => void } {
  const home = mkdtempSync(join(tmpdir(), 'lk-'));
  return { home, remove: () => rmSync(home, { recursive: true, force: true, maxRetries: 3 }) };
}

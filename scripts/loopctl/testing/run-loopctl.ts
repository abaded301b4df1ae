/** Runs loopctl as a process of its own, as a person or a script does. */
import { spawn } from 'node:child_process';
import { programCommand } from '../../../shared/testing/start-daemon.ts';

export interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface RunOptions {
  readonly input?: string;
  readonly env?: NodeJS.ProcessEnv;
}

export async function runLoopctl(
  home: string,
  args: readonly string[],
  { input, env = {} }: RunOptions = {},
): Promise<Ran> {
  const [node = process.execPath, ...rest] = programCommand('scripts/loopctl/main.ts');
  const child = spawn(node, [...rest, ...args, '--home', home], {
    env: { ...process.env, ...env },
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  child.stdin?.end(input);
  const status = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  return { status, stdout, stderr };
}

/** The same where it has to succeed. */
export async function loopctl(home: string, args: readonly string[], options?: RunOptions): Promise<string> {
  const { status, stdout, stderr } = await runLoopctl(home, args, options);
  if (status !== 0) throw new Error(`loopctl ${args.join(' ')} ended with ${status}\n${stdout}${stderr}`);
  return stdout;
}

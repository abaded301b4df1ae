/** memoryd as a child of loopctl: for a chore of its own, or serving one home on sockets that nobody else knows. */
import { spawn, type ChildProcess } from 'node:child_process';
import { chown, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assetPath } from '../../shared/assets.ts';
import { Client } from '../../shared/client.ts';
import { AppError, errorKinds, type ErrorCode } from '../../shared/errors.ts';
import { homeOf, type Home } from '../../shared/home.ts';
import { memorydProtocol, type MemorydProtocol } from '../../shared/protocol/memoryd.ts';

/** A store is checked table by table before it is ready. */
const readyMsMax = 30 * 60 * 1000;
const stderrCharsMax = 4000;

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** Who new files in the place of this one have to belong to; undefined where we are nobody who could give them away. */
export async function ownerOf(path: string): Promise<Owner | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const found = await stat(path).catch(() => undefined);
  return found === undefined ? undefined : { uid: found.uid, gid: found.gid };
}

/** Compiled beside us, or the source, run as we are. */
function memorydCommand(): string[] {
  try {
    return [...process.execArgv, assetPath('daemons/memoryd/main.js')];
  } catch {
    return [...process.execArgv, assetPath('daemons/memoryd/main.ts')];
  }
}

function start(args: readonly string[], owner: Owner | undefined): ChildProcess {
  return spawn(process.execPath, [...memorydCommand(), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    ...owner,
    // Whatever systemd gave us is not meant for it.
    env: { ...process.env, NOTIFY_SOCKET: undefined, LISTEN_FDS: undefined, LISTEN_PID: undefined },
  });
}

/** A chore of memoryd that prints one line of JSON. @throws AppError as memoryd ends */
export async function memorydChore<R>(chore: 'check-store' | 'salvage', parts: Parts): Promise<R> {
  const { config, owner, clean } = await ownSettings(parts);
  const child = start([chore, '--config', config], owner);
  let output = '';
  let told = '';
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (told = (told + chunk.toString()).slice(0, stderrCharsMax)));
  let status: number | null;
  try {
    status = await ended(child);
  } finally {
    await clean();
  }
  if (status === 0) return JSON.parse(output) as R;
  const code = /^runbook: (.+)$/m.exec(told)?.[1] ?? '';
  const message = told.split('\n')[0]?.replace(/^memoryd: /, '') ?? '';
  throw new AppError(
    Object.hasOwn(errorKinds, code) ? (code as ErrorCode) : 'internal',
    message === '' ? `memoryd ${chore} ended with ${status}` : message,
  );
}

type Parts = Pick<Home, 'home' | 'store' | 'memory' | 'sessions'>;

/** Settings that name the parts and nothing else, in a folder that holds the sockets too: a wrong file stops no repair. */
async function ownSettings({ home, store, memory, sessions }: Parts) {
  const owner = await ownerOf(store);
  const run = await mkdtemp(join(tmpdir(), 'lk-own-'));
  const config = join(run, 'memoryd.toml');
  const text = Object.entries({ home, run, store, memory, sessions }).map(
    ([key, path]) => `${key} = ${JSON.stringify(path)}\n`,
  );
  await writeFile(config, `[paths]\n${text.join('')}`, { mode: 0o600 });
  if (owner !== undefined) for (const path of [run, config]) await chown(path, owner.uid, owner.gid);
  return { run, config, owner, clean: () => rm(run, { recursive: true, force: true }) };
}

export interface OwnMemoryd {
  readonly memory: Client<MemorydProtocol>;
  stop(): Promise<void>;
}

/** Serves the parts of a home on sockets in a folder of its own. @throws AppError */
export async function startOwnMemoryd(parts: Parts): Promise<OwnMemoryd> {
  const { run, config, owner, clean } = await ownSettings(parts);
  const child = start(['serve', '--config', config], owner);
  try {
    await ready(child);
  } catch (thrown) {
    child.kill('SIGKILL');
    await clean();
    throw thrown;
  }
  const memory = new Client(homeOf({ run }).memorySockets.ops, memorydProtocol, {
    unavailable: 'memory-unavailable',
    connectMs: 2000,
  });
  return {
    memory,
    stop: async () => {
      memory.close();
      const end = ended(child);
      child.kill('SIGTERM');
      await end;
      await clean();
    },
  };
}

function ended(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null) return Promise.resolve(child.exitCode);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status) => resolve(status));
  });
}

async function ready(child: ChildProcess): Promise<void> {
  let output = '';
  const isReady = new Promise<void>((resolve) => {
    const look = (chunk: Buffer) => {
      if (output.length < stderrCharsMax * 16) output += chunk.toString();
      if (output.includes('"msg":"ready"')) resolve();
    };
    child.stdout?.on('data', look);
    child.stderr?.on('data', look);
  });
  let timer: NodeJS.Timeout | undefined;
  const failed = async (): Promise<never> => {
    const status = await ended(child);
    throw new AppError('memory-unavailable', `memoryd ended with ${status}: ${output.slice(-500)}`);
  };
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new AppError('memory-unavailable', 'memoryd is not ready')), readyMsMax);
  });
  const failing = failed();
  failing.catch(() => undefined);
  await Promise.race([isReady, failing, late]).finally(() => clearTimeout(timer));
}

/**
 * Types the commands of every entry under a real systemd, against the fault that the entry is for: healthy, fault,
 * the entry's blocks with the outputs they promise, healthy again. Usage: try.ts [CODE...]   as root
 */
import { execFile, execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readEntries } from './check.ts';
import type { Entry, RunBlock } from './entry.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
/** Where the lab shows the project. */
const source = '/source';
const labsd = join(root, 'scripts/device/labsd');
/** Labs at once: each entry waits more than it works. */
const labsMax = 2;
const blockMsMax = 120_000;
const outputBytesMax = 16 * 1024 * 1024;
/** What must hold before a fault and after its entry. */
const healthy = 'loopctl health --wait 30 && loopctl probe && test -z "$(systemctl --failed --no-legend)"';

interface Ran {
  readonly status: number;
  readonly output: string;
}

/** One device under a systemd of its own. */
class Lab {
  readonly #env: NodeJS.ProcessEnv;

  constructor(number: number) {
    this.#env = {
      ...process.env,
      LABSD_NAME: `loopkeep-runbook-${process.pid}-${number}`,
      LABSD_BIND: `${root.replace(/\/$/, '')}:${source}`,
    };
  }

  async up(): Promise<void> {
    await this.#labsd(['up']);
    await this.#labsd(['exec', 'dpkg', '--install', `${source}/build/runbook.deb`]);
  }

  async down(): Promise<void> {
    await this.#labsd(['down']);
  }

  inside(commands: string, variables: Readonly<Record<string, string>> = {}): Promise<Ran> {
    const env = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
    return this.#run(['exec', 'env', ...env, 'bash', '--norc', '-euc', `exec 2>&1; cd /root; ${commands}`]);
  }

  async #labsd(args: readonly string[]): Promise<void> {
    const { status, output } = await this.#run(args);
    if (status !== 0) throw new Error(`labsd ${args.join(' ')} ended with ${status}\n${output}`);
  }

  #run(args: readonly string[]): Promise<Ran> {
    const options = { env: this.#env, timeout: blockMsMax, maxBuffer: outputBytesMax };
    return new Promise((resolve) => {
      execFile(labsd, args, options, (error, stdout, stderr) =>
        resolve({
          status: error === null ? 0 : Number(error.code ?? 1),
          output: error === null ? stdout : stdout + stderr,
        }),
      );
    });
  }
}

/** The first line that is missing in its place, or a status that is another; undefined where all is as promised. */
export function unmet({ status, output }: Ran, { expect }: RunBlock): string | undefined {
  if (status !== expect.status) return `ended with ${status}, not ${expect.status}`;
  const lines = output.split('\n');
  let from = 0;
  for (const pattern of expect.lines) {
    const at = lines.findIndex((line, index) => index >= from && patternOf(pattern).test(line));
    if (at < 0) return `no line matches /${pattern}/`;
    from = at + 1;
  }
  return undefined;
}

/** JavaScript has no (?i) inside a pattern. */
function patternOf(pattern: string): RegExp {
  return pattern.startsWith('(?i)') ? new RegExp(pattern.slice(4), 'i') : new RegExp(pattern);
}

/** What went wrong with one entry, or undefined. */
async function tryEntry(lab: Lab, entry: Entry): Promise<string | undefined> {
  const reset = await lab.inside(`${source}/scripts/runbook/reset.sh`);
  if (reset.status !== 0) return `the device cannot be reset\n${reset.output}`;
  const before = await lab.inside(healthy);
  if (before.status !== 0) return `not healthy before the fault\n${before.output}`;
  const fault = existsSync(join(root, 'scripts/runbook/faults', `${entry.name}.sh`))
    ? await lab.inside(`bash ${source}/scripts/runbook/faults/${entry.name}.sh`)
    : { status: 0, output: '' };
  if (fault.status !== 0) return `the fault cannot be caused (${fault.status})\n${fault.output}`;
  const variables = Object.fromEntries(
    [...fault.output.matchAll(/^(?<name>[A-Z_]+)=(?<value>.*)$/gm)].map(({ groups }) => [
      groups?.['name'] ?? '',
      groups?.['value'] ?? '',
    ]),
  );
  for (const block of entry.blocks) {
    const ran = await lab.inside(block.commands, variables);
    const wrong = unmet(ran, block);
    if (wrong !== undefined) {
      return `line ${block.line} (${block.section}): ${wrong}\n$ ${block.commands}\n${ran.output}`;
    }
  }
  const after = await lab.inside(healthy);
  return after.status === 0 ? undefined : `not healthy after the entry\n${after.output}`;
}

function buildPackage(): void {
  execFileSync(join(root, 'scripts/device/build-deb'), ['0-runbook', join(root, 'build/runbook.deb')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

/** Takes entries from the queue until it is empty; counts what failed. */
async function work(lab: Lab, queue: Entry[]): Promise<number> {
  let failed = 0;
  await lab.up();
  try {
    for (let entry = queue.shift(); entry !== undefined; entry = queue.shift()) {
      const wrong = await tryEntry(lab, entry);
      if (wrong !== undefined) failed += 1;
      process.stdout.write(
        wrong === undefined ? `ok    ${entry.name}\n` : `FAIL  runbook/${entry.name}.md: ${wrong}\n`,
      );
    }
  } finally {
    await lab.down();
  }
  return failed;
}

async function main(wanted: readonly string[]): Promise<void> {
  try {
    execFileSync(labsd, ['can']);
  } catch (error) {
    process.stdout.write(`SKIP runbook: ${String((error as { stdout: Buffer }).stdout).trim()}\n`);
    process.exitCode = process.env['REQUIRE_ALL'] === '1' ? 1 : 0;
    return;
  }
  const entries = readEntries(join(root, 'runbook')).filter(
    ({ name }) => wanted.length === 0 || wanted.includes(name),
  );
  buildPackage();
  const queue = [...entries];
  const labs = Array.from({ length: Math.min(labsMax, queue.length) }, (_, number) => new Lab(number));
  const failures = await Promise.all(labs.map((lab) => work(lab, queue)));
  const failed = failures.reduce((sum, count) => sum + count, 0);
  const commands = entries.reduce((sum, { blocks }) => sum + blocks.length, 0);
  process.stdout.write(
    `runbook: ${entries.length - failed} passed, ${failed} failed; ${commands} blocks of commands typed\n`,
  );
  if (failed > 0 || entries.length === 0) process.exitCode = 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2));

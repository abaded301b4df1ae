/**
 * The gate: everything that must hold before a change lands, with real daemons and real processes. Each part says what
 * it looked at; one that looked at nothing fails, and one that cannot run here is skipped, or fails with REQUIRE_ALL=1.
 */
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const requireAll = process.env['REQUIRE_ALL'] === '1';

interface Part {
  readonly name: string;
  readonly command: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /** What the output must hold to show that something was looked at. */
  readonly proof: RegExp;
}

function gateTests(): string[] {
  const found: string[] = [];
  for (const top of ['daemons', 'shared', 'scripts']) {
    for (const entry of readdirSync(join(root, top), { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      if (entry.isFile() && entry.name.endsWith('.gate.ts') && !path.includes('node_modules'))
        found.push(relative(root, path));
    }
  }
  return found.toSorted();
}

const reporter = '--test-reporter=./scripts/gate/reporter.mjs';
const tests = /tests: ([1-9]\d*) passed, 0 failed/;

function parts(): Part[] {
  const files = gateTests();
  if (files.length === 0) throw new Error('gate: found no gate test');
  return [
    { name: 'check', command: ['make', '--no-print-directory', 'check'], proof: tests },
    { name: 'build', command: ['make', '--no-print-directory', 'build'], proof: /build: dist\/ [1-9]/ },
    {
      name: 'daemons',
      // One file after another: each has daemons of its own, and the machine two cores.
      command: ['node', '--import', 'tsx', '--test', '--test-concurrency=2', reporter, ...files],
      env: { LOOPKEEP_DIST: '1' },
      proof: tests,
    },
    { name: 'demo', command: ['node', '--import', 'tsx', 'scripts/demo/demo.ts'], proof: /demo: ok/ },
    {
      name: 'runbook',
      command: ['make', '--no-print-directory', 'runbook'],
      proof: /[1-9]\d* passed, 0 failed/,
    },
    { name: 'e2e', command: ['make', '--no-print-directory', 'e2e'], proof: /[1-9]\d* passed, 0 failed/ },
  ];
}

interface Outcome {
  readonly status: number | null;
  readonly output: string;
}

function run({ command: [program = '', ...args], env }: Part): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    const take = (chunk: Buffer) => (output += chunk.toString());
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    child.once('error', (error) => resolve({ status: null, output: String(error) }));
    child.once('close', (status) => resolve({ status, output }));
  });
}

const shownLines = 200;

async function pass(part: Part): Promise<boolean> {
  const begun = performance.now();
  const { status, output } = await run(part);
  const seconds = ((performance.now() - begun) / 1000).toFixed(0);
  const skipped = [...output.matchAll(/^.*\bSKIP\b.*$/gm)].map(([line]) => line.trim());
  for (const line of skipped) process.stdout.write(`  ${part.name}: ${line}\n`);
  const proof = part.proof.exec(output)?.[0];
  const isSkipped = skipped.length > 0 && proof === undefined && status === 0;
  const holds =
    status === 0 &&
    (proof !== undefined || (isSkipped && !requireAll)) &&
    !(requireAll && skipped.length > 0);
  for (const [line] of output.matchAll(/^figures: .*$/gm)) process.stdout.write(`  ${line}\n`);
  if (holds) process.stdout.write(`ok    ${part.name}  ${isSkipped ? 'skipped' : proof}  ${seconds} s\n`);
  else {
    process.stdout.write(
      `${output.split('\n').slice(-shownLines).join('\n')}\nFAIL  ${part.name} (status ${status}, proof ${proof ?? 'missing'})  ${seconds} s\n`,
    );
  }
  return holds;
}

let passed = 0;
const all = parts();
for (const part of all) {
  if (!(await pass(part))) {
    process.stdout.write(`gate: failed at ${part.name}, ${passed} of ${all.length} parts passed\n`);
    process.exit(1);
  }
  passed += 1;
}
process.stdout.write(`gate: ${passed} parts\ngate: ok\n`);

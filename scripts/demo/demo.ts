/** The story of an agent that remembers, played with real daemons in a fresh home. Usage: demo.ts [FILE] */
import { spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseImport } from '../import/parse-import.ts';
import {
  programCommand,
  startDaemon,
  temporaryHome,
  type RunningDaemon,
} from '../../shared/testing/start-daemon.ts';

const folder = dirname(fileURLToPath(import.meta.url));
const given = process.argv[2];
const file = given ? resolve(given) : join(folder, 'sample.jsonl');
process.env['LOOPKEEP_DIST'] ??= '1';

const { home, remove } = temporaryHome();
const [node = process.execPath, ...loopctlArgs] = programCommand('scripts/loopctl/main.ts');

/** What the entry says first: what it means, and what still works. */
const explainLinesMax = 12;

function say(text: string): void {
  process.stdout.write(`\n== ${text}\n`);
}

/** Types a command as a person would, and shows what it prints. */
function type(args: readonly string[], { mayFail = false, quiet = false, linesMax = Infinity } = {}): string {
  const shown = args.map((arg) => (/^[\w./@:=-]+$/.test(arg) ? arg : JSON.stringify(arg))).join(' ');
  if (!quiet) process.stdout.write(`\n$ loopctl ${shown}\n`);
  const done = spawnSync(node, [...loopctlArgs, ...args, '--home', home], { encoding: 'utf8' });
  if (!quiet) process.stdout.write(indented(done, linesMax));
  if (done.status !== 0 && !mayFail)
    throw new Error(`loopctl ${shown} ended with ${done.status}\n${done.stderr}`);
  return done.stdout;
}

function indented({ stdout, stderr, status }: SpawnSyncReturns<string>, linesMax: number): string {
  const text = [stdout, stderr].filter((part) => part.trim() !== '').join('\n');
  const all = text.trimEnd().split('\n');
  const left = all.length - linesMax;
  const lines = [...all.slice(0, linesMax), ...(left > 0 ? [`… ${left} more lines`] : [])].map(
    (line) => `  ${line}`,
  );
  return `${[...lines, ...(status === 0 ? [] : [`  (exit status ${status})`])].join('\n')}\n`;
}

/** One turn in a session; the session is a new one where none is named. */
function ask(text: string, session?: string): { session: string; answer: string } {
  const to = session === undefined ? [] : ['--session', session];
  process.stdout.write(
    `\n$ loopctl prompt ${JSON.stringify(text)}${session === undefined ? '' : ` --session ${session}`}\n`,
  );
  const {
    session: id,
    answer,
    memory = [],
  } = JSON.parse(type(['prompt', text, ...to, '--json'], { quiet: true })) as {
    session: string;
    answer: string;
    memory?: { file: string; changed: { after: string | null }[] }[];
  };
  process.stdout.write(`  ${answer.trimEnd().replaceAll('\n', '\n  ')}\n`);
  for (const { file: curated, changed } of memory) {
    for (const { after } of changed) process.stdout.write(`  (remembered in ${curated}.md: ${after})\n`);
  }
  return { session: id, answer };
}

/** A question that the conversation itself can answer: the benchmark's own, or words of an early message. */
async function questionOf(): Promise<string> {
  if (!given) return 'Where is the main water valve?';
  const source = readFileSync(file, 'utf8');
  const asked = /"question"\s*:\s*("(?:[^"\\]|\\.)*")/.exec(source)?.[1];
  if (asked !== undefined) return JSON.parse(asked) as string;
  for await (const { records } of parseImport({ kind: 'auto', source, name: 'demo' })) {
    for (const record of records)
      if (record.type === 'turn' && record.text.length > 40) return record.text.slice(0, 120).toWellFormed();
  }
  return 'What did we talk about?';
}

function expect(holds: boolean, what: string): void {
  if (!holds) throw new Error(`the demo expected that ${what}`);
}

async function play(started: RunningDaemon[]): Promise<void> {
  say('Both daemons start in a fresh home. There is no model: a fixed responder answers from memory alone.');
  let memoryd = await startDaemon('memoryd', home);
  started.push(memoryd, await startDaemon('loopd', home));
  type(['status']);

  say(`Past conversations come in${given ? ` from ${given}` : ' from a small sample'}.`);
  type(['import', file]);
  type(['sessions']);

  say('The person writes something down by hand; a new session starts, and this is its frozen baseline.');
  type(['memory', 'add', '--file', 'user', 'Prefers short answers.']);
  const first = ask('Hello! Who are you?');
  type(['show', first.session, '--baseline']);

  say('A question about something said sessions ago: recalled, with its date and source.');
  const question = await questionOf();
  type(['recall', question, '--limit', '3', '--window', '1']);
  const recalled = ask(question, first.session);
  expect(recalled.answer.length > 0, 'there is an answer');

  say('Something is remembered: in this session through the memory tool, for all sessions after it.');
  ask('Remember that the spare key hangs in the shed, behind the red watering can.', first.session);
  type(['memory']);

  say('A second session knows it from its first word on.');
  const second = ask('Where does the spare key hang?');
  expect(/shed/.test(second.answer), 'the second session knows what the first was told');

  say('memoryd is killed with SIGKILL. The running session goes on …');
  await memoryd.kill();
  ask('What time is it?', first.session);
  say('… and a new one is refused, with the reason and what to do.');
  type(['prompt', 'Hello?'], { mayFail: true });
  type(['explain', 'memory-unavailable'], { linesMax: explainLinesMax });

  say('memoryd starts again. Nothing was lost, and new sessions work at once.');
  memoryd = await startDaemon('memoryd', home);
  started.push(memoryd);
  const third = ask('Where does the spare key hang?');
  expect(/shed/.test(third.answer), 'what was remembered is still there after kill -9');
  type(['verify']);
}

const started: RunningDaemon[] = [];
try {
  await play(started);
} finally {
  await Promise.all(
    started
      .filter(({ child }) => child.exitCode === null && child.signalCode === null)
      .map((daemon) => daemon.stop()),
  );
  remove();
}
process.stdout.write(`
demo: ok. This home is gone again.
  To chat in a home of your own:   make chat
  To attach a real model:          put this into ~/.loopkeep/loopd.toml and start loopd again
      [model]
      url = "http://127.0.0.1:8080"     # llama-server or another OpenAI-compatible server
`);

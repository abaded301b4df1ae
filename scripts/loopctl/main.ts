/** loopctl: the command line of both daemons, a client of theirs. Usage: loopctl COMMAND; see commands.ts for all. */
import { Command as Program, CommanderError } from 'commander';
import { Client } from '../../shared/client.ts';
import { defaultConfig, readConfig } from '../../shared/config.ts';
import { toAppError } from '../../shared/errors.ts';
import { homeOf } from '../../shared/home.ts';
import { ParamsError } from '../../shared/params-error.ts';
import { memorydProtocol, type MemorydProtocol } from '../../shared/protocol/memoryd.ts';
import type { Role } from '../../shared/protocol/method.ts';
import { memorydSettings } from '../../shared/settings.ts';
import { version } from '../../shared/version.ts';
import type { Channel } from './channel.ts';
import type { Command, CommandContext, Options } from './command.ts';
import { commands, groups } from './commands.ts';
import { createOutput, errorText } from './output.ts';

const usageStatus = 64;
const everywhere = [
  ['--home <dir>', 'the home of the two daemons'],
  ['--config <file>', "memoryd's configuration file"],
  ['--json', 'print JSON for programs'],
] as const;

const program = new Program('loopctl')
  .description('Talks to memoryd and loopd: the memory of an agent on this device.')
  .version(version)
  .showHelpAfterError('(try: loopctl --help)')
  .exitOverride()
  .helpCommand(false);
for (const [flags, about] of everywhere) program.option(flags, about);
for (const command of commands) add(program, command);

try {
  await program.parseAsync();
} catch (thrown) {
  fail(thrown);
}

/** Adds a command below the words of its path. */
function add(root: Program, command: Command): void {
  const words = command.path.split(' ');
  const name = words.pop() ?? '';
  let parent = root;
  for (const word of words)
    parent = parent.commands.find((known) => known.name() === word) ?? parent.command(word);
  const existing = parent.commands.find((known) => known.name() === name);
  const built = existing ?? parent.command(name, { hidden: command.path.includes(' ') });
  built.description(command.about).exitOverride();
  if (command.args !== undefined) for (const arg of command.args.split(' ')) built.argument(arg);
  for (const [flags, about] of [...(command.options ?? []), ...everywhere]) built.option(flags, about);
  built.helpGroup(groups[command.group]).addHelpText('after', `\nExample:\n  ${command.example}`);
  built.action(async (...given: unknown[]) => {
    const options = built.optsWithGlobals<Record<string, string | boolean>>();
    const args = given
      .slice(0, -2)
      .flat()
      .filter((arg): arg is string => typeof arg === 'string');
    await run(command, args, options);
  });
}

function settingsFor(command: Command, home: string | undefined, file: string | undefined) {
  try {
    return readConfig(memorydSettings, { name: 'memoryd', home, file });
  } catch (thrown) {
    if (command.worksWithoutSettings !== true) throw thrown;
    return defaultConfig(memorydSettings, home);
  }
}

async function run(command: Command, args: readonly string[], options: Options): Promise<void> {
  const home = options['home'] as string | undefined;
  const config = settingsFor(command, home, options['config'] as string | undefined);
  const parts = homeOf(config.settings.paths);
  const clients = new Map<Role, Client<MemorydProtocol>>();
  let channel: Promise<Channel> | undefined;
  const context: CommandContext = {
    home: parts,
    config,
    out: createOutput(options['json'] === true),
    memory: (role = 'ops') => {
      const known = clients.get(role);
      if (known !== undefined) return known;
      const client = new Client(parts.memorySockets[role], memorydProtocol, {
        unavailable: 'memory-unavailable',
      });
      clients.set(role, client);
      return client;
    },
    channel: () => {
      const opening = (channel ??= import('./channel.ts').then(({ openChannel }) =>
        openChannel(parts.channelSocket),
      ));
      // Whoever waits for loopd asks again.
      opening.catch(() => (channel = undefined));
      return opening;
    },
    input: readInput,
    inputJson: readJson,
  };
  try {
    const perform = await command.load();
    await perform(context, args, options);
  } finally {
    for (const client of clients.values()) client.close();
    (await channel?.catch(() => undefined))?.close();
  }
}

async function readInput(): Promise<string> {
  let text = '';
  process.stdin.setEncoding('utf8');
  for await (const chunk of process.stdin) text += chunk as string;
  return text;
}

async function readJson<T>(what: string): Promise<T> {
  const text = await readInput();
  try {
    return JSON.parse(text) as T;
  } catch (thrown) {
    throw new ParamsError(what, `standard input is not JSON: ${(thrown as Error).message}`);
  }
}

function fail(thrown: unknown): void {
  if (thrown instanceof CommanderError) {
    process.exitCode = thrown.exitCode === 0 ? 0 : usageStatus;
    return;
  }
  if (thrown instanceof ParamsError) {
    process.stderr.write(`loopctl: ${thrown.message}\n`);
    process.exitCode = usageStatus;
    return;
  }
  const error = toAppError(thrown);
  if (process.argv.includes('--json'))
    process.stdout.write(`${JSON.stringify({ error: { message: error.message, data: error.toData() } })}\n`);
  process.stderr.write(errorText(error));
  if (error.code === 'internal' && error.cause instanceof Error)
    process.stderr.write(`${error.cause.stack}\n`);
  process.exitCode = error.exit;
}

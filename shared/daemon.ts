/** The life of a daemon: options, settings, start, ready, reload, orderly stop, exit status. */
import { parseArgs } from 'node:util';
import { readConfig, type Config } from './config.ts';
import { toAppError } from './errors.ts';
import { homeOf, type Home } from './home.ts';
import { openJournal } from './journal.ts';
import { createLog, type Log } from './log.ts';
import { createNotifier } from './notify.ts';
import type { SettingsTable } from './settings.ts';
import { version } from './version.ts';

/** Something that must be stopped; the last one owned is stopped first. */
export interface Stoppable {
  stop(): Promise<void> | void;
}

export interface Life<T extends SettingsTable> {
  readonly home: Home;
  readonly config: Config<T>;
  readonly log: Log;
  readonly own: <S extends Stoppable>(part: S) => S;
  /** Called on SIGHUP with the settings as they are then; a file that is wrong keeps the old ones. */
  readonly onReload: (apply: (config: Config<T>) => void) => void;
  /** Aborted when the daemon begins to stop. */
  readonly stopping: AbortSignal;
}

/** Work of a daemon that is done once and said in one line of JSON, without sockets. */
export interface Chore<T extends SettingsTable> {
  readonly about: string;
  readonly run: (home: Home, config: Config<T>) => Promise<object>;
}

interface DaemonOptions<T extends SettingsTable> {
  readonly name: string;
  readonly settings: T;
  /** Starts everything; when it returns, the daemon is ready. */
  readonly start: (life: Life<T>) => Promise<void>;
  /** Further commands beside serve and check. */
  readonly chores?: Readonly<Record<string, Chore<T>>>;
}

type Chores = Readonly<Record<string, { readonly about: string }>>;

const usage = (
  name: string,
  chores: Chores,
) => `usage: ${[name, ['serve', 'check', ...Object.keys(chores)].join('|')].join(' ')} [--home DIR] [--config FILE]
  serve   run until SIGTERM or SIGINT
  check   read the configuration, say what is wrong with file and line, start nothing
${Object.entries(chores)
  .map(([command, { about }]) => `  ${command}   ${about}\n`)
  .join('')}example: ${name} serve --home ~/.loopkeep
`;

/** Every part has this long to stop; then the process ends with what it has. */
const stopMsMax = 10_000;
const usageStatus = 64;

/** Runs a daemon to its end and sets the exit status of the process. */
export async function runDaemon<T extends SettingsTable>(options: DaemonOptions<T>): Promise<void> {
  const { name, settings, chores = {} } = options;
  const asked = commandOf(name, chores);
  if (asked === undefined) return;
  try {
    const config = readConfig(settings, { name, ...asked });
    if (asked.command === 'check') {
      process.stdout.write(`${name}: configuration ok (${config.file ?? 'defaults'})\n`);
      return;
    }
    const chore = chores[asked.command];
    if (chore === undefined) return await live(options, config, asked);
    process.umask(0o077);
    const done = await chore.run(homeOf((config.settings as { paths?: object }).paths ?? {}), config);
    process.stdout.write(`${JSON.stringify(done)}\n`);
  } catch (thrown) {
    const error = toAppError(thrown);
    process.stderr.write(
      `${name}: ${error.message}\nrunbook: ${error.code}\n  loopctl explain ${error.code}\n`,
    );
    const journal = await openJournal(name);
    journal?.fail({ code: error.code, message: error.message });
    process.exitCode = error.exit;
  }
}

interface Asked {
  command: string;
  home: string | undefined;
  file: string | undefined;
}

function commandOf(name: string, chores: Chores): Asked | undefined {
  const isCommand = (word: string) => word === 'serve' || word === 'check' || Object.hasOwn(chores, word);
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        home: { type: 'string' },
        config: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
        version: { type: 'boolean' },
      },
    });
    const [command, ...rest] = positionals;
    if (values.version === true) process.stdout.write(`${version}\n`);
    else if (values.help === true) process.stdout.write(usage(name, chores));
    else if (command !== undefined && isCommand(command) && rest.length === 0) {
      return { command, home: values.home, file: values.config };
    } else throw new Error(`what should ${name} do?`);
  } catch (thrown) {
    process.stderr.write(`${name}: ${(thrown as Error).message}\n${usage(name, chores)}`);
    process.exitCode = usageStatus;
  }
  return undefined;
}

async function live<T extends SettingsTable>(
  { name, settings, start }: DaemonOptions<T>,
  config: Config<T>,
  asked: Asked,
): Promise<void> {
  // Files and folders are the owner's alone unless a mode says otherwise.
  process.umask(0o077);
  const level = (config.settings as { log?: { level?: string } }).log?.level ?? 'info';
  const log = createLog(name, level, await openJournal(name));
  const parts: Stoppable[] = [];
  const reloads: ((config: Config<T>) => void)[] = [];
  const stopping = new AbortController();
  const signalled = nextSignal(() => reload());
  const reload = () => {
    try {
      const fresh = readConfig(settings, { name, home: asked.home, file: asked.file });
      log.level = (fresh.settings as { log?: { level?: string } }).log?.level ?? level;
      for (const apply of reloads) apply(fresh);
      log.info({ file: fresh.file }, 'reloaded');
    } catch (thrown) {
      log.error(
        { code: 'config-invalid', RUNBOOK: 'config-invalid', reason: (thrown as Error).message },
        'reload refused',
      );
    }
  };
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'a bug ends the process');
    process.exit(70);
  });
  const notifier = await createNotifier(process.env);
  try {
    const own = <S extends Stoppable>(part: S): S => {
      parts.push(part);
      return part;
    };
    const home = homeOf((config.settings as { paths?: object }).paths ?? {});
    await start({
      home,
      config,
      log,
      own,
      onReload: (apply) => reloads.push(apply),
      stopping: stopping.signal,
    });
    await notifier.ready();
    notifier.startWatchdog(() => true);
    log.info({ version, home: home.home }, 'ready');
    const signal = await signalled;
    log.info({ signal }, 'stopping');
  } catch (thrown) {
    const error = toAppError(thrown);
    log.fatal(
      { code: error.code, RUNBOOK: error.code, ...error.details, err: error.cause ?? error },
      error.message,
    );
    process.exitCode = error.exit;
  }
  await notifier.stopping();
  stopping.abort();
  await stopAll(parts, log);
  process.exit();
}

async function stopAll(parts: Stoppable[], log: Log): Promise<void> {
  const late = setTimeout(() => {
    log.error({ code: 'internal' }, `not stopped after ${stopMsMax} ms`);
    process.exit();
  }, stopMsMax);
  for (const part of parts.toReversed()) {
    try {
      await part.stop();
    } catch (thrown) {
      log.error({ err: thrown }, 'a part did not stop cleanly');
    }
  }
  clearTimeout(late);
  log.info('stopped');
}

function nextSignal(onHangUp: () => void): Promise<NodeJS.Signals> {
  process.on('SIGHUP', onHangUp);
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => resolve(signal));
  });
}

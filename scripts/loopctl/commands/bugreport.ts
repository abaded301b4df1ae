/** loopctl bugreport: what somebody who helps needs to know, without secrets, memories, sessions or people's paths. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { arch, cpus, platform, release, totalmem } from 'node:os';
import { promisify } from 'node:util';
import { AppError } from '../../../shared/errors.ts';
import { readConfig } from '../../../shared/config.ts';
import { loopdSettings, memorydSettings, type SettingsTable } from '../../../shared/settings.ts';
import { curatedFiles, type StatusReply } from '../../../shared/protocol/replies.ts';
import { version } from '../../../shared/version.ts';
import type { Options, Run } from '../command.ts';
import { both, isAway, type LoopStatus, type Part } from '../daemon-status.ts';
import { examine } from '../doctor/examine.ts';
import { Scrubber } from '../without-secrets.ts';

const run = promisify(execFile);
const journalLines = 200;
const journalMs = 10_000;

export const bugreport: Run = async (context, _args, options) => {
  const { out, home } = context;
  const scrubber = new Scrubber(home);
  const { memoryd, loopd } = await both(context);
  const findings = await examine(context, options);
  const report = {
    loopkeep: 'bugreport',
    at: new Date().toISOString(),
    versions: { loopctl: version, ...process.versions },
    platform: {
      platform: platform(),
      release: release(),
      arch: arch(),
      cpus: cpus().length,
      memory_bytes: totalmem(),
    },
    settings: {
      ...settingsOf('memoryd', memorydSettings, { options, scrubber }),
      ...settingsOf('loopd', loopdSettings, { options, scrubber }),
    },
    memoryd: scrubber.value(memorydFacts(memoryd)),
    loopd: scrubber.value(loopdFacts(loopd)),
    doctor: findings.map(({ what, code, text }) => ({
      // The id of a session may be the name of a conversation.
      what: what.startsWith('log ') ? 'log' : what,
      code,
      text: what === 'index logs' ? 'logs are missing' : scrubber.text(text),
    })),
    log: await journal(scrubber),
  };
  const text = `${JSON.stringify(report, undefined, 2)}\n`;
  const file = options['out'];
  if (typeof file !== 'string') return out.write(text);
  await writeFile(file, text, { mode: 0o600 }).catch((cause: NodeJS.ErrnoException) => {
    throw new AppError('store-write-failed', `write ${file}: ${cause.code}`, { cause });
  });
  out.result({ file, bytes: text.length }, () => `${file}: read it before you send it`);
};

function settingsOf(
  name: string,
  table: SettingsTable,
  { options, scrubber }: { options: Options; scrubber: Scrubber },
): Record<string, unknown> {
  try {
    const home = typeof options['home'] === 'string' ? options['home'] : undefined;
    const { settings, origins } = readConfig(table, { name, home });
    const changed = [...origins.keys()].flatMap((setting) => {
      const [section = '', key = ''] = setting.split('.', 2);
      const value = (settings as Record<string, Record<string, unknown>>)[section]?.[key];
      return value === undefined ? [] : [[setting, scrubber.setting(setting, value)] as const];
    });
    return { [name]: Object.fromEntries(changed) };
  } catch (thrown) {
    return { [name]: `cannot be read: ${scrubber.text((thrown as Error).message)}` };
  }
}

/** Figures and states, field by field: what is added to a status later stays out until somebody has looked at it. */
function memorydFacts(part: Part<StatusReply>): object {
  if (isAway(part)) return part;
  const {
    state,
    version: its,
    uptime_s,
    memory_rss_bytes,
    connections,
    store,
    index,
    memory,
    sessions,
    jobs,
    faults,
  } = part;
  return {
    state,
    version: its,
    uptime_s,
    memory_rss_bytes,
    connections,
    store: {
      state: store.state,
      reasons: store['reasons'],
      bytes: store['bytes'],
      durable: store['durable'],
      recoveries: store['recoveries'],
    },
    index: { state: index.state, behind: index.behind, turns: index['turns'] },
    curated: curatedFiles.map((file) => {
      const { used, limit, entries, state: itsState } = memory[file];
      return { file, used, limit, entries, state: itsState };
    }),
    sessions: { logs: sessions.logs, missing: sessions.missing.length },
    jobs,
    faults,
  };
}

function loopdFacts(part: Part<LoopStatus>): object {
  if (isAway(part)) return part;
  const { version: its, uptime_s, sessions, connections, running, turns, memory, mcp, faults, model } = part;
  return {
    version: its,
    uptime_s,
    sessions,
    connections,
    running: running.length,
    turns,
    memory,
    mcp: Object.values(mcp).map(({ state, tools, restarts }) => ({ state, tools, restarts })),
    model: { kind: model.kind, state: model.state, context: model.contextTokens, warnings: model.warnings },
    faults,
  };
}

/** Of each line when, how grave and which code; its text only where it is one of ours and carries no values. */
async function journal(scrubber: Scrubber): Promise<unknown[]> {
  const args = ['-u', 'memoryd', '-u', 'loopd', '-o', 'cat', '--no-pager', '-n', String(journalLines)];
  try {
    const { stdout } = await run('journalctl', args, { timeout: journalMs, maxBuffer: 16 * 1024 * 1024 });
    return stdout.split('\n').flatMap((line) => {
      const fact = logFact(line);
      return fact === undefined ? [] : [scrubber.value(fact)];
    });
  } catch {
    // A device without systemd has no journal.
    return [];
  }
}

export function logFact(line: string): object | undefined {
  try {
    const { time, level, name, code, method, msg } = JSON.parse(line) as Record<string, unknown>;
    if (typeof msg !== 'string') return undefined;
    return { time, level, name, code, method, ...(code === undefined ? { msg } : {}) };
  } catch {
    return undefined;
  }
}

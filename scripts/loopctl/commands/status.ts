/** loopctl status and health: both daemons at a glance. */
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../../../shared/errors.ts';
import { curatedFiles, type StatusReply } from '../../../shared/protocol/replies.ts';
import { version } from '../../../shared/version.ts';
import type { Run } from '../command.ts';
import { both, isAway, type LoopStatus, type Part } from '../daemon-status.ts';
import { usageLine } from './memory.ts';

export const status: Run = async (context) => {
  const { memoryd, loopd } = await both(context);
  context.out.result({ loopctl: { version }, memoryd, loopd }, () =>
    [memorydText(memoryd), loopdText(loopd), ...warnings(memoryd, loopd)].join('\n'),
  );
  if (isAway(memoryd)) throw new AppError('memory-unavailable', memoryd.message);
  if (isAway(loopd)) throw new AppError('loop-unavailable', loopd.message);
};

function memorydText(part: Part<StatusReply>): string {
  if (isAway(part)) return `memoryd  down: ${part.message}`;
  const { state, version: its, pid, uptime_s, store, index, memory, sessions, faults } = part;
  return [
    `memoryd  ${state}  ${its}  pid ${pid}  up ${Math.round(uptime_s)} s`,
    `  store  ${store.state}`,
    `  index  ${index.state}, ${index.behind} behind`,
    ...curatedFiles.map(
      (file) =>
        `  ${usageLine(file, memory[file])}${memory[file].state === 'ok' ? '' : `  ${memory[file].state}`}`,
    ),
    `  sessions  ${sessions.logs} logs${sessions.missing.length === 0 ? '' : `, missing: ${sessions.missing.join(' ')}`}`,
    ...Object.entries(faults).map(([code, count]) => `  fault  ${code} ×${count}`),
  ].join('\n');
}

function loopdText(part: Part<LoopStatus>): string {
  if (isAway(part)) return `loopd    down: ${part.message}`;
  const {
    version: its,
    pid,
    uptime_s,
    sessions,
    turns,
    running,
    connections,
    deleted_untold,
    mcp,
    faults,
  } = part;
  const many = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`;
  return [
    `loopd    ready  ${its}  pid ${pid}  up ${Math.round(uptime_s)} s`,
    ...modelLines(part.model),
    `  sessions  ${many(sessions, 'log')}, ${many(turns, 'turn')} since the start, ${many(connections, 'connection')}`,
    ...running.map(({ session, turn }) => `  running  ${session} turn ${turn}`),
    ...memoryLines(part.memory),
    ...(deleted_untold === 0 ? [] : [`  deleted  ${deleted_untold} of which memoryd does not know yet`]),
    ...Object.entries(mcp).map(
      ([name, { state, tools, failure }]) =>
        `  tools  ${name} ${state}, ${many(tools, 'tool')}${failure === undefined ? '' : `: ${failure}`}`,
    ),
    ...Object.entries(faults).map(([code, count]) => `  fault  ${code} ×${count}`),
  ].join('\n');
}

function modelLines({ kind, name, state, contextTokens, warnings: told }: LoopStatus['model']): string[] {
  const context = contextTokens === undefined ? '' : `, context ${contextTokens}`;
  const label = kind === 'builtin' ? 'builtin' : `${name} (${kind}), ${state}${context}`;
  return [`  model  ${label}`, ...told.map((warning) => `         ${warning}`)];
}

function memoryLines({ failed, updatesLost, lastFailure }: LoopStatus['memory']): string[] {
  if (failed === 0) return [];
  const last = lastFailure === undefined ? '' : `, last ${lastFailure.method}: ${lastFailure.cause}`;
  return [`  memory  ${failed} requests to memoryd failed (${updatesLost} updates)${last}`];
}

function warnings(...parts: Part<{ version: string }>[]): string[] {
  const others = parts.filter(
    (part): part is { version: string } => !isAway(part) && part.version !== version,
  );
  return others.length === 0
    ? []
    : [
        `warning: this loopctl is ${version}; a daemon is ${others.map((part) => part.version).join(', ')}: restart it`,
      ];
}

const waitSecondsDefault = 30;
const pauseMs = 200;

/** Ready is: both answer, and the store is open. */
export const health: Run = async (context, _args, options) => {
  const wait = options['wait'];
  const seconds = wait === undefined ? 0 : wait === true ? waitSecondsDefault : Number(wait);
  const until = Date.now() + seconds * 1000;
  for (;;) {
    const { memoryd, loopd } = await both(context);
    const isReady = !isAway(memoryd) && !isAway(loopd) && memoryd.state === 'ready';
    if (isReady) return context.out.result({ ready: true }, () => 'ready');
    if (Date.now() >= until) {
      context.out.result({ ready: false, memoryd, loopd }, () =>
        [memorydText(memoryd), loopdText(loopd)].join('\n'),
      );
      if (isAway(memoryd)) throw new AppError('memory-unavailable', memoryd.message);
      if (isAway(loopd)) throw new AppError('loop-unavailable', loopd.message);
      throw new AppError('store-damaged', `memoryd is ${memoryd.state}`);
    }
    await sleep(pauseMs);
  }
};

/** Checks of what acts: the model server, MCP servers, versions, the clock, the units of systemd. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { version } from '../../../shared/version.ts';
import { isAway } from '../daemon-status.ts';
import { fault, ok, type Finding, type Patient } from './finding.ts';
import { getJson } from './get-json.ts';

const run = promisify(execFile);
const systemctlMs = 5000;
const dayMs = 24 * 60 * 60 * 1000;
/** This code was written after it. */
const earliestMs = Date.UTC(2025, 0, 1);

export async function checkModel({ loopdSettings, loopd }: Patient): Promise<Finding[]> {
  if (loopdSettings === undefined) return [];
  const { kind, url } = loopdSettings.model;
  if (kind === 'builtin' || (kind === '' && url === '')) return [ok('model', 'builtin')];
  const mend = 'start the model server; then: loopctl explain model-unavailable';
  const health = await getJson(url, '/health');
  // Not every server has /health; what counts is that one is there.
  if (typeof health === 'string') return [fault('model', 'model-unavailable', [`${url}: ${health}`, mend])];
  if (health.status === 503)
    return [fault('model', 'model-unavailable', ['it is still loading', 'wait, then again'])];
  const props = await getJson(url, '/props');
  const facts = typeof props === 'string' ? {} : factsOf(props.body);
  const context = facts.context ?? (isAway(loopd) ? undefined : loopd.model.contextTokens);
  const told = [
    'answers',
    context === undefined ? 'its context is not known' : `context ${context}`,
    ...(facts.slots === undefined ? [] : [`${facts.slots} slots`]),
  ];
  const warnings = isAway(loopd) ? [] : loopd.model.warnings;
  return [
    ok('model', told.join(', ')),
    ...warnings.map((warning) =>
      fault('model', 'context-full', [
        warning,
        'start the server with more context, or set model.context_tokens',
      ]),
    ),
  ];
}

function factsOf(body: unknown): { context?: number; slots?: number } {
  const { default_generation_settings: settings, total_slots: slots } = (body ?? {}) as {
    default_generation_settings?: { n_ctx?: unknown };
    total_slots?: unknown;
  };
  return {
    ...(typeof settings?.n_ctx === 'number' ? { context: settings.n_ctx } : {}),
    ...(typeof slots === 'number' ? { slots } : {}),
  };
}

export function checkTools({ loopd }: Patient): Finding[] {
  if (isAway(loopd)) return [];
  return Object.entries(loopd.mcp).map(([name, { state, tools, failure }]) =>
    state === 'failed'
      ? fault(`tools ${name}`, 'tool-failed', [
          failure ?? 'it failed',
          `run its command by hand; settings: [mcp.servers.${name}] in loopd.toml`,
        ])
      : ok(`tools ${name}`, `${state}, ${tools} tools`),
  );
}

export function checkVersions({ memoryd, loopd }: Patient): Finding[] {
  return Object.entries({ memoryd, loopd }).flatMap(([name, part]) => {
    if (isAway<{ version: string }>(part)) return [];
    return part.version === version
      ? [ok(`version ${name}`, version)]
      : [
          fault(`version ${name}`, 'config-invalid', [
            `it is ${part.version}, this loopctl is ${version}`,
            `systemctl restart ${name}`,
          ]),
        ];
  });
}

export async function checkClock({ home }: Patient): Promise<Finding[]> {
  const nowMs = Date.now();
  const mend = 'set the clock: timedatectl';
  if (nowMs < earliestMs)
    return [fault('clock', 'config-invalid', [`it says ${new Date(nowMs).toISOString()}`, mend])];
  let newestMs = 0;
  for (const name of await readdir(home.sessions).catch(() => [])) {
    const found = await stat(join(home.sessions, name)).catch(() => undefined);
    newestMs = Math.max(newestMs, found?.mtimeMs ?? 0);
  }
  if (newestMs > nowMs + dayMs)
    return [
      fault('clock', 'config-invalid', [
        `a session log is from ${new Date(newestMs).toISOString()}, and now it is ${new Date(nowMs).toISOString()}`,
        mend,
      ]),
    ];
  return [ok('clock', new Date(nowMs).toISOString())];
}

const units = [
  'memoryd.service',
  'loopd.service',
  'loopkeep-loop.socket',
  'loopkeep-gate.socket',
  'loopkeep-ops.socket',
  'loopkeep-channel.socket',
];

export async function checkUnits(): Promise<Finding[]> {
  if (!existsSync('/run/systemd/system')) return [];
  const findings: Finding[] = [];
  for (const unit of units) {
    try {
      const { stdout } = await run('systemctl', ['show', '-p', 'LoadState,ActiveState,NRestarts', unit], {
        timeout: systemctlMs,
      });
      const facts = Object.fromEntries(
        stdout
          .trim()
          .split('\n')
          .map((line) => line.split('=', 2) as [string, string]),
      );
      if (facts['LoadState'] !== 'loaded') continue;
      const code =
        unit.startsWith('loopd') || unit.includes('channel') ? 'loop-unavailable' : 'memory-unavailable';
      findings.push(
        facts['ActiveState'] === 'failed'
          ? fault(`unit ${unit}`, code, [
              'failed',
              `journalctl -x -u ${unit}; then: systemctl reset-failed ${unit}; systemctl start ${unit}`,
            ])
          : ok(`unit ${unit}`, `${facts['ActiveState']}, ${facts['NRestarts'] ?? 0} restarts`),
      );
    } catch {
      // A systemctl that does not answer says nothing about the daemons.
      return findings;
    }
  }
  return findings;
}

/** loopctl metrics: memoryd's and loopd's figures as OpenMetrics text. */
import { toAppError } from '../../../shared/errors.ts';
import { curatedFiles } from '../../../shared/protocol/replies.ts';
import type { Run } from '../command.ts';

interface Metric {
  readonly name: string;
  readonly about: string;
  readonly type: 'gauge' | 'counter';
  readonly samples: readonly (readonly [labels: string, value: number])[];
}

export const metrics: Run = async ({ out, memory, channel }) => {
  const all: Metric[] = [];
  const up = new Map<string, number>();
  const tried = async (daemon: string, read: () => Promise<Metric[]>) => {
    try {
      all.push(...(await read()));
      up.set(daemon, 1);
    } catch (thrown) {
      out.note(`${daemon}: ${toAppError(thrown).message}`);
      up.set(daemon, 0);
    }
  };
  await tried('memoryd', async () => {
    const status = await memory().call('status', {});
    const files = curatedFiles.map((file) => [file, status.memory[file]] as const);
    return [
      gauge('loopkeep_memoryd_uptime_seconds', 'Seconds since memoryd started.', [['', status.uptime_s]]),
      gauge('loopkeep_index_behind_records', 'Records that recall cannot find yet.', [
        ['', status.index.behind],
      ]),
      gauge('loopkeep_session_logs', 'Session logs in the folder.', [['', status.sessions.logs]]),
      gauge('loopkeep_session_logs_missing', 'Logs that are indexed and not in the folder.', [
        ['', status.sessions.missing.length],
      ]),
      gauge(
        'loopkeep_memory_used_chars',
        'Code points in a curated file.',
        files.map(([file, { used }]) => [`{file="${file}"}`, used]),
      ),
      gauge(
        'loopkeep_memory_limit_chars',
        'Code points that a curated file may hold.',
        files.map(([file, { limit }]) => [`{file="${file}"}`, limit]),
      ),
      {
        name: 'loopkeep_faults',
        about: 'Errors answered or logged since the start, by code.',
        type: 'counter',
        samples: Object.entries(status.faults).map(([code, count]) => [`{code="${code}"}`, count] as const),
      },
    ];
  });
  await tried('loopd', async () => {
    const status = await (await channel()).request('_loopkeep/status', {});
    return Object.entries(status)
      .filter((entry): entry is [string, number] => typeof entry[1] === 'number' && entry[0] !== 'pid')
      .map(([name, value]) =>
        gauge(`loopkeep_loopd_${name.replaceAll(/\W/g, '_')}`, `${name} of loopd.`, [['', value]]),
      );
  });
  all.unshift(
    gauge(
      'loopkeep_up',
      'Whether the daemon answers.',
      [...up].map(([daemon, value]) => [`{daemon="${daemon}"}`, value] as const),
    ),
  );
  if (out.isJson) out.result({ metrics: all.map(metricJson) }, () => '');
  else out.write(`${all.map(metricText).join('')}# EOF\n`);
};

const label = /(\w+)="([^"]*)"/g;

function metricJson({ samples, ...metric }: Metric) {
  return {
    ...metric,
    samples: samples.map(([labels, value]) => ({
      labels: Object.fromEntries([...labels.matchAll(label)].map(([, name, text]) => [name, text])),
      value,
    })),
  };
}

function gauge(name: string, about: string, samples: Metric['samples']): Metric {
  return { name, about, type: 'gauge', samples };
}

function metricText({ name, about, type, samples }: Metric): string {
  const suffix = type === 'counter' ? '_total' : '';
  return `# HELP ${name} ${about}\n# TYPE ${name} ${type}\n${samples.map(([labels, value]) => `${name}${suffix}${labels} ${value}\n`).join('')}`;
}

/** loopctl record, runs, ledger, proposals, scores, carry, watch: the record plane for scripts and people. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ParamsError } from '../../../shared/params-error.ts';
import type { ListedRecord } from '../../../shared/protocol/replies.ts';
import {
  kindNames,
  replacedKinds,
  type KindName,
  type ReplacedKind,
} from '../../../shared/protocol/records.ts';
import { choiceOption, countOption, roleOption, textOption } from '../arguments.ts';
import type { CommandContext, Options, Run } from '../command.ts';
import { tableOf } from '../output.ts';
import { localTime } from './recall.ts';

function kindOf(kind: string | undefined): KindName {
  const known = kindNames.find((name) => name === kind);
  if (known === undefined) throw new ParamsError('kind', `KIND is one of ${kindNames.join(', ')}`, kind);
  return known;
}

function replacedKindOf(kind: string | undefined): ReplacedKind {
  const known = replacedKinds.find((name) => name === kind);
  if (known === undefined) throw new ParamsError('kind', `KIND is one of ${replacedKinds.join(', ')}`, kind);
  return known;
}

export const put: Run = async ({ memory, out, inputJson }, [kind], options) => {
  const record = await inputJson<Record<string, unknown>>('record');
  const reply = await memory(roleOption(options)).call('record/put', {
    kind: kindOf(kind),
    record,
    ...textOption(options, 'run', 'run_id'),
    ...textOption(options, 'requestId', 'request_id'),
  });
  out.result(reply, () => reply.key);
};

export const get: Run = async ({ memory, out }, [kind, run = ''], options) => {
  const reply = await memory(roleOption(options)).call('record/get', {
    kind: replacedKindOf(kind),
    run_id: run,
    ...textOption(options, 'target', 'target'),
    ...textOption(options, 'key', 'key'),
    ...countOption(options, 'iteration', 'iteration'),
  });
  out.result(reply, () => JSON.stringify(reply.record, null, 2));
};

async function page(
  { memory }: CommandContext,
  kind: KindName,
  options: Options & { run?: string | undefined },
) {
  return memory(roleOption(options)).call('record/list', {
    kind,
    ...(options.run === undefined ? {} : { run_id: options.run }),
    ...countOption(options, 'limit', 'limit'),
    ...textOption(options, 'cursor', 'cursor'),
    ...choiceOption(options, 'order', ['asc', 'desc']),
  });
}

export const list: Run = async (context, [kind, run], options) => {
  const reply = await page(context, kindOf(kind), { ...options, run });
  context.out.result(reply, () =>
    [
      ...reply.records.map(({ key, record }) => `${key}  ${JSON.stringify(record)}`),
      ...more(reply.next),
    ].join('\n'),
  );
};

function more(next: string | undefined): string[] {
  return next === undefined ? [] : [`more: --cursor ${next}`];
}

export const runs: Run = async ({ memory, out }, _args, options) => {
  const reply = await memory().call('record/runs', {
    ...countOption(options, 'limit', 'limit'),
    ...textOption(options, 'cursor', 'cursor'),
  });
  out.result(reply, () => [...reply.runs, ...more(reply.next)].join('\n'));
};

function ledgerLine({ record }: ListedRecord): string {
  const { created_ms, iteration, kind, node_id, detail } = record;
  const node = typeof node_id === 'string' ? `  ${node_id}` : '';
  return `${localTime(new Date(Number(created_ms)).toISOString())}  ${String(iteration).padStart(3)}  ${String(kind)}${node}  ${String(detail)}`;
}

export const ledger: Run = async (context, [run], options) => {
  const reply = await page(context, 'ledger', { ...options, run });
  context.out.result(reply, () => [...reply.records.map(ledgerLine), ...more(reply.next)].join('\n'));
};

export const proposals: Run = async (context, [run], options) => {
  const reply = await page(context, 'proposal', { ...options, run });
  const rows = reply.records.map(({ record }) => [
    record['expired'] === true ? 'stale' : 'open',
    String(record['kind']),
    String(record['subject']),
    String(record['rationale']),
  ]);
  context.out.result(reply, () =>
    [tableOf(['state', 'kind', 'subject', 'rationale'], rows), ...more(reply.next)].join('\n'),
  );
};

export const scores: Run = async ({ memory, out }) => {
  const reply = await memory().call('record/scores', {});
  const percent = (share: number) => `${(share * 100).toFixed(0)} %`;
  const rows = reply.scores.map(({ skill, trials, satisfied, satisfaction_rate, mean_pass_rate, source }) => [
    skill,
    String(trials),
    String(satisfied),
    percent(satisfaction_rate),
    percent(mean_pass_rate),
    source,
  ]);
  out.result(reply, () => tableOf(['skill', 'trials', 'satisfied', 'rate', 'mean pass', 'source'], rows));
};

const depthDefault = 3;

export const carry: Run = async ({ memory, out }, [run = ''], options) => {
  const { depth = depthDefault } = countOption(options, 'depth', 'depth');
  const reply = await memory().call('record/carry', { run_id: run, depth });
  out.result(reply, () => reply.text);
};

const watchPauseMs = 1000;

/** Prints each ledger line as it comes; a lost memoryd is waited for. */
export const watch: Run = async (context, [run], options) => {
  let cursor: string | undefined;
  let seen = '';
  for (;;) {
    const reply = await page(context, 'ledger', {
      ...options,
      run,
      ...(cursor === undefined ? {} : { cursor }),
    });
    const fresh = reply.records.filter(({ key }) => key > seen);
    for (const listed of fresh) {
      context.out.line(context.out.isJson ? JSON.stringify(listed) : ledgerLine(listed));
      seen = listed.key;
      if (listed.record['kind'] === 'run_finished') return;
    }
    if (reply.next !== undefined) cursor = reply.next;
    else await sleep(watchPauseMs);
  }
};

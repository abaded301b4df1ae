/**
 * How well recall finds what answers a question, beside other engines in the same run. Usage:
 *
 *   recall.ts DATA [--engines loopkeep,fts5,minisearch,grep] [--gate T5/T10/S5] [--gate-all T5/T10/S5]
 *
 * DATA is a LoCoMo file, a folder of them, or LongMemEval's JSON. LoCoMo is asked twice: each conversation by itself, and
 * all in one index. With a gate, the status is 1 where our engine is below it, over categories 1 to 4.
 */
import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';
import { readCases, type Case, type Question } from './data.ts';
import type { Cost, EngineKind } from './engine.ts';
import { fts5 } from './fts5-engine.ts';
import { grep } from './grep-engine.ts';
import { loopkeep } from './loopkeep-engine.ts';
import { meanOf, quantile, scoresOf, type Figures } from './metrics.ts';
import { minisearch } from './minisearch-engine.ts';
import { mebibytes, milliseconds, percent, tableOf } from './table.ts';

const engines: Readonly<Record<string, EngineKind>> = { loopkeep, fts5, minisearch, grep };
/** Turns that are looked at to rank sessions. */
const rankedMax = 100;
/** Turns that are asked for where the time counts. */
const askedMax = 10;
/** LoCoMo's questions about what was never said are looked at apart. */
const adversarial = '5';
const headline = '1 to 4';

type Asked = { question: Question; scores: ReturnType<typeof scoresOf>; ms: number };

interface Outcome {
  readonly engine: string;
  readonly index: string;
  readonly asked: readonly Asked[];
  readonly costs: readonly Cost[];
}

/** One index with all sessions of its cases, and their questions. */
type Group = { readonly name: string; readonly cases: readonly Case[] };

async function ask(kind: EngineKind, { cases }: Group): Promise<{ asked: Asked[]; cost: Cost }> {
  const engine = await kind.create();
  try {
    const cost = await engine.index(cases.flatMap(({ sessions }) => sessions));
    const questions = cases.flatMap((one) => one.questions);
    const ranked: Omit<Asked, 'ms'>[] = [];
    for (const question of questions) {
      const ranking = await engine.search(question.text, rankedMax);
      ranked.push({ question, scores: scoresOf(ranking, question) });
    }
    const asked: Asked[] = [];
    for (const one of ranked) {
      const begun = performance.now();
      await engine.search(one.question.text, askedMax);
      asked.push({ ...one, ms: performance.now() - begun });
    }
    return { asked, cost };
  } finally {
    await engine.close();
  }
}

async function run(kind: EngineKind, index: string, groups: readonly Group[]): Promise<Outcome> {
  const asked: Asked[] = [];
  const costs: Cost[] = [];
  for (const group of groups) {
    const result = await ask(kind, group);
    asked.push(...result.asked);
    costs.push(result.cost);
    if (process.stderr.isTTY)
      process.stderr.write(`\r${kind.name}, ${index}: ${costs.length} of ${groups.length} \u001b[K`);
  }
  if (process.stderr.isTTY) process.stderr.write('\n');
  return { engine: kind.name, index, asked, costs };
}

function figuresOf({ asked }: Outcome, category?: string): Figures {
  return meanOf(
    asked
      .filter(({ question }) =>
        category === undefined ? question.category !== adversarial : question.category === category,
      )
      .map(({ scores }) => scores),
  );
}

const header = ['t@1', 't@5', 't@10', 'all@10', 'MRR', 'nDCG@10', 's@1', 's@5', 's@10'];
const cells = (figures: Figures) =>
  [
    figures.turn1,
    figures.turn5,
    figures.turn10,
    figures.all10,
    figures.mrr,
    figures.ndcg10,
    figures.session1,
    figures.session5,
    figures.session10,
  ].map(percent);

function print(outcomes: readonly Outcome[]): void {
  const categories = [
    ...new Set(outcomes.flatMap(({ asked }) => asked.map(({ question }) => question.category))),
  ];
  const write = (title: string, table: string) => process.stdout.write(`\n${title}\n\n${table}\n`);
  const { questions } = figuresOf(outcomes[0] as Outcome);
  write(
    `${questions} questions${categories.includes(adversarial) ? `, categories ${headline}` : ''}`,
    tableOf(
      ['engine', 'index', ...header],
      outcomes.map((outcome) => [outcome.engine, outcome.index, ...cells(figuresOf(outcome))]),
    ),
  );
  write(
    'by category: t@5 / t@10 / s@5',
    tableOf(
      ['engine', 'index', ...categories.toSorted()],
      outcomes.map((outcome) => [
        outcome.engine,
        outcome.index,
        ...categories.toSorted().map((category) => {
          const { turn5, turn10, session5 } = figuresOf(outcome, category);
          return [turn5, turn10, session5].map(percent).join(' / ');
        }),
      ]),
    ),
  );
  write(
    'what it costs: the answer to one question, all indexes together',
    tableOf(
      ['engine', 'index', 'p50 ms', 'p99 ms', 'index ms', 'memory MiB', 'disk MiB'],
      outcomes.map(({ engine, index, asked, costs }) => {
        const times = asked.map(({ ms }) => ms);
        const sum = (part: (cost: Cost) => number) => costs.reduce((total, cost) => total + part(cost), 0);
        const isMeasured = costs.every(({ memoryBytes }) => memoryBytes !== undefined);
        return [
          engine,
          index,
          milliseconds(quantile(times, 0.5)),
          milliseconds(quantile(times, 0.99)),
          milliseconds(sum(({ indexMs }) => indexMs)),
          mebibytes(isMeasured ? sum(({ memoryBytes = 0 }) => memoryBytes) : undefined),
          mebibytes(sum(({ diskBytes }) => diskBytes)),
        ];
      }),
    ),
  );
}

/** @returns whether our engine is at least as good. */
function passes(outcome: Outcome | undefined, gate: string | undefined): boolean {
  if (gate === undefined) return true;
  if (outcome === undefined) return false;
  const { turn5, turn10, session5 } = figuresOf(outcome);
  const found = [turn5, turn10, session5];
  const isGood = gate.split('/').every((least, at) => (found[at] ?? 0) >= Number(least));
  process.stdout.write(
    `\ngate ${outcome.index}: ${found.map(percent).join(' / ')}, at least ${gate}: ${isGood ? 'ok' : 'BELOW'}\n`,
  );
  return isGood;
}

function isInstalled({ name, packageName }: EngineKind): boolean {
  if (packageName === undefined) return true;
  try {
    createRequire(import.meta.url).resolve(packageName);
    return true;
  } catch {
    process.stdout.write(
      `${name}: left out, ${packageName} is not installed (npm ci --prefix scripts/bench)\n`,
    );
    return false;
  }
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    engines: { type: 'string', default: Object.keys(engines).join(',') },
    gate: { type: 'string' },
    'gate-all': { type: 'string' },
  },
});
const [data] = positionals;
const kinds = values.engines.split(',').map((name) => engines[name]);
if (data === undefined || kinds.includes(undefined)) {
  process.stderr.write(
    `usage: recall.ts DATA [--engines ${Object.keys(engines).join(',')}] [--gate T5/T10/S5]\n`,
  );
  process.exitCode = 64;
} else {
  const cases: Case[] = [];
  for await (const one of readCases(data)) if (one.questions.length > 0) cases.push(one);
  if (cases.length === 0) throw new Error(`${data} holds no questions that this bench can read`);
  const apart = cases.map((one) => ({ name: one.id, cases: [one] }));
  // A haystack of LongMemEval belongs to its question: all in one would hold the same sessions many times.
  const isShared = cases.length > 1 && cases.every(({ questions }) => questions.length > 1);
  const outcomes: Outcome[] = [];
  const installed = (kinds as EngineKind[]).filter(isInstalled);
  for (const kind of installed) outcomes.push(await run(kind, 'each by itself', apart));
  if (isShared)
    for (const kind of kinds as EngineKind[])
      outcomes.push(await run(kind, 'all in one', [{ name: 'all', cases }]));
  print(outcomes);
  const ours = (index: string) => outcomes.find((one) => one.engine === loopkeep.name && one.index === index);
  const isGood = [
    passes(ours('each by itself'), values.gate),
    passes(ours('all in one'), values['gate-all']),
  ].every(Boolean);
  if (!isGood) process.exitCode = 1;
}

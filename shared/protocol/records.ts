/**
 * Every kind of record that memoryd keeps for loop runs, and nothing else is kept.
 *
 *   kind         key                      write    why it sorts this way
 *   episode      ep/<run>/<seq>           append   a run reads in the order it happened
 *   goal_state   gs/<run>/<target>        replace  the goals of one run lie together
 *   ledger       lg/<run>/<seq>           append   a run reads in the order it happened
 *   checkpoint   ck/<run>                 replace  listing runs reads one prefix
 *   scratchpad   sp/<run>/<key>           replace  the notes of one run lie together
 *   summary      su/<run>/<iteration>     replace  iterations sort by number
 *   skill_trial  st/<seq>                 append   one history across runs
 *   proposal     pr/<run>/<seq>           append   a run reads in the order it happened
 *
 * `<seq>` is one counter for all kinds; it and `<iteration>` are zero-padded to 20 digits. In `<run>`, `<target>`
 * and `<key>` the bytes `%`, `/` and those below 0x20 are percent-encoded, so no run reaches into another's range.
 *
 * To add a kind: its row here, its schema below, its lifetime in `lifetimes` if it can expire; request, types,
 * checks, keys, listing, export and the protocol page follow. To add a field: optional, always, with what its
 * absence reads as in `absent`; then old records read for ever and nothing is migrated.
 */
import { flag, integer, list, number, object, oneOf, text, type Infer, type Schema } from '../schema.ts';

/** Whole milliseconds since the epoch. */
const ms = integer(0, Number.MAX_SAFE_INTEGER);
const count = integer(0, Number.MAX_SAFE_INTEGER);
const cost = number(0);
const counts: Schema<Record<string, number>> = { type: 'object', additionalProperties: count };

/** The same schema, which also takes null. */
function nullable<T>(schema: Schema<T>): Schema<T | null> {
  return { anyOf: [schema, { type: 'null' }] };
}

export const ledgerKinds = [
  'run_started',
  'iteration_started',
  'node_dispatched',
  'node_succeeded',
  'node_failed',
  'gate_evaluated',
  'goal_satisfied',
  'goal_revoked',
  'skill_acquired',
  'proposal_written',
  'stop_gate_triggered',
  'run_finished',
] as const;

export const proposalKinds = [
  'adopt_skill',
  'drop_skill',
  'try_skill',
  'reshape_graph',
  'change_criteria',
] as const;

/** One part of a key: the run, a field of the record, or the store's own sequence. */
export type KeyPart = 'run' | 'target' | 'key' | 'iteration' | 'seq';

export interface RecordKind {
  readonly prefix: string;
  readonly key: readonly KeyPart[];
  readonly write: 'append' | 'replace';
  /** On the disk before the reply even where the store is set to let records ride along. */
  readonly flushed?: true;
  /** Fields that may not be blank (empty or white space only); the run may not where it is a part of the key. */
  readonly notBlank: readonly string[];
  /** Where the run of the key comes from: inside the record, beside it, or nowhere (a kind across runs). */
  readonly run: 'inside' | 'beside' | 'none';
  readonly value: Schema;
  /** What an absent or null optional field reads as. */
  readonly absent: Readonly<Record<string, unknown>>;
}

export const recordKinds = {
  episode: {
    prefix: 'ep',
    key: ['run', 'seq'],
    write: 'append',
    notBlank: ['run_id', 'node_id', 'provider_id'],
    run: 'inside',
    value: object(
      {
        run_id: text(),
        iteration: count,
        node_id: text(),
        role: text(),
        provider_id: text(),
        prompt_digest: text(),
        output: text(),
        created_ms: ms,
      },
      {
        tokens: nullable(count),
        cost_usd: nullable(cost),
        duration_ms: nullable(count),
        error: nullable(text()),
      },
    ),
    absent: { tokens: null, cost_usd: null, duration_ms: null, error: null },
  },
  goal_state: {
    prefix: 'gs',
    key: ['run', 'target'],
    write: 'replace',
    notBlank: ['target'],
    run: 'beside',
    value: object({
      target: text(),
      satisfied: flag(),
      passed: count,
      failed: count,
      total: count,
      reason: text(),
      iteration: count,
      updated_ms: ms,
    }),
    absent: {},
  },
  ledger: {
    prefix: 'lg',
    key: ['run', 'seq'],
    write: 'append',
    notBlank: ['run_id'],
    run: 'inside',
    value: object(
      { run_id: text(), iteration: count, kind: oneOf(...ledgerKinds), detail: text(), created_ms: ms },
      { node_id: nullable(text()), tokens: nullable(count), cost_usd: nullable(cost) },
    ),
    absent: { node_id: null, tokens: null, cost_usd: null },
  },
  checkpoint: {
    prefix: 'ck',
    key: ['run'],
    write: 'replace',
    flushed: true,
    notBlank: ['run_id'],
    run: 'inside',
    value: object(
      {
        run_id: text(),
        iteration: count,
        completed_nodes: list(text()),
        tokens_used: count,
        cost_usd: cost,
        started_ms: ms,
        updated_ms: ms,
      },
      {
        revisions: nullable(counts),
        stale_iterations: nullable(count),
        last_signature: nullable(text()),
        verdicts_json: nullable(text()),
      },
    ),
    absent: { revisions: {}, stale_iterations: 0, last_signature: '', verdicts_json: null },
  },
  scratchpad: {
    prefix: 'sp',
    key: ['run', 'key'],
    write: 'replace',
    notBlank: ['run_id', 'key'],
    run: 'inside',
    value: object({ run_id: text(), key: text(), value: text() }),
    absent: {},
  },
  summary: {
    prefix: 'su',
    key: ['run', 'iteration'],
    write: 'replace',
    notBlank: ['run_id'],
    run: 'inside',
    value: object(
      { run_id: text(), iteration: count, headline: text(), facts: list(text()), created_ms: ms },
      { narrative: nullable(text()) },
    ),
    absent: { narrative: null },
  },
  skill_trial: {
    prefix: 'st',
    key: ['seq'],
    write: 'append',
    notBlank: ['skill'],
    run: 'none',
    value: object(
      {
        run_id: text(),
        iteration: count,
        node_id: text(),
        skill: text(),
        source: text(),
        pass_rate: number(0, 1),
        satisfied: flag(),
        created_ms: ms,
      },
      { tokens: nullable(count) },
    ),
    absent: { tokens: null },
  },
  proposal: {
    prefix: 'pr',
    key: ['run', 'seq'],
    write: 'append',
    notBlank: ['run_id'],
    run: 'inside',
    value: object(
      {
        run_id: text(),
        iteration: count,
        kind: oneOf(...proposalKinds),
        subject: text(),
        rationale: text(),
        created_ms: ms,
      },
      { patch: nullable(text()), expires_ms: nullable(ms) },
    ),
    absent: { patch: null, expires_ms: null },
  },
} as const satisfies Record<string, RecordKind>;

export type KindName = keyof typeof recordKinds;
export type RecordOf<K extends KindName> = Infer<(typeof recordKinds)[K]['value']>;
export const kindNames = Object.keys(recordKinds) as KindName[];

/** The kinds whose key is known to who wrote them, so that one record of them can be asked for. */
export type ReplacedKind = {
  [K in KindName]: (typeof recordKinds)[K]['write'] extends 'replace' ? K : never;
}[KindName];
export const replacedKinds = kindNames.filter(
  (name) => recordKinds[name].write === 'replace',
) as ReplacedKind[];

/** A part of a key (run, target, key) holds at most this many bytes before encoding. */
export const keyPartBytesMax = 512;
/** A scratchpad value holds at most this many bytes of UTF-8. */
export const scratchpadBytesMax = 1024 * 1024;

const dayMs = 24 * 60 * 60 * 1000;

/** How long a proposal stands, from `created_ms`; null is for ever. A new kind does not compile without a decision. */
export const lifetimesMs = {
  try_skill: 7 * dayMs,
  adopt_skill: 30 * dayMs,
  drop_skill: 30 * dayMs,
  reshape_graph: 30 * dayMs,
  change_criteria: null,
} as const satisfies Record<(typeof proposalKinds)[number], number | null>;

/** Every method of memoryd: who may call it, what it takes, what it answers. */
import { anyObject, anything, flag, integer, list, object, oneOf, text, type Infer } from '../schema.ts';
import { returns, type Protocol, type Role } from './method.ts';
import { kindNames, replacedKinds } from './records.ts';
import {
  curatedFiles,
  recallSources,
  type MemoryReply,
  type BlockReply,
  type RecallReply,
  type StatusReply,
  type ListedRecord,
  type SkillScore,
  type MemoryChange,
  type MemoryShow,
  type PendingChange,
  type VerifyReply,
  type ForgetReply,
} from './replies.ts';

const all: readonly Role[] = ['loop', 'gate', 'ops'];
const operator: readonly Role[] = ['ops'];

/** The same id with the same content is done once and answered alike, for at least a day. */
const requestId = text({ minLength: 1, maxLength: 128 });
/** The longest key, encoded, fits: two parts of 512 bytes, each three times as long, in base64. */
const cursor = text({ maxLength: 8192 });
const sessionId = text({ maxLength: 128 });
const limit = integer(1, 1000);
const sequence = integer(0, Number.MAX_SAFE_INTEGER);

export const memoryActions = ['view', 'add', 'replace', 'remove', 'consolidate', 'undo'] as const;

/** One change; the second row are names that small models use instead. */
const change = {
  text: text(),
  old: text(),
  entries: list(text()),
  expect: text({ maxLength: 64 }),
  content: text(),
  new_text: text(),
  target: text(),
  old_text: text(),
  old_string: text(),
};

const memoryParams = object(
  {},
  {
    action: oneOf(...memoryActions),
    file: text({ maxLength: 64 }),
    ...change,
    operations: list(
      object({ action: oneOf(...memoryActions) }, { file: text({ maxLength: 64 }), ...change }),
      {
        minItems: 1,
        maxItems: 100,
      },
    ),
    reason: text({ maxLength: 2000 }),
    origin: object({}, { session: sessionId, turn: integer(0, Number.MAX_SAFE_INTEGER) }),
    request_id: requestId,
  },
);
export type MemoryParams = Infer<typeof memoryParams>;

const recallParams = object(
  { query: text() },
  {
    limit: integer(1, 100),
    since: text({ maxLength: 64 }),
    until: text({ maxLength: 64 }),
    session: sessionId,
    exclude_session: sessionId,
    sources: list(oneOf(...recallSources), { minItems: 1, maxItems: 4 }),
    window: integer(0, 10),
    max_chars: integer(200, 200_000),
    order: oneOf('relevance', 'newest', 'oldest'),
    cursor,
  },
);
export type RecallParams = Infer<typeof recallParams>;

const kind = oneOf(...kindNames);

export const memorydProtocol = {
  block: {
    about: 'Both curated files rendered for a new baseline; a pure function of their entries.',
    roles: all,
    effect: 'read',
    params: object({}),
    returns: returns<BlockReply>(
      '{ text, version, files: { memory: {used, limit, entries}, user: {…} }, tokens }',
    ),
  },
  memory: {
    about: 'Views or changes one curated file; `operations` is all or nothing.',
    roles: all,
    effect: 'exclusive',
    params: memoryParams,
    returns: returns<MemoryReply>(
      '{ file, version, entries, used, limit, changed: [{before, after}], note? }',
    ),
  },
  'memory/log': {
    about: 'The changes of one curated file, newest first.',
    roles: operator,
    effect: 'read',
    params: object({ file: oneOf(...curatedFiles) }, { limit, cursor }),
    returns: returns<{ changes: MemoryChange[]; next?: string }>(
      '{ changes: [{seq, at, action, changed, …}], next? }',
    ),
  },
  'memory/show': {
    about: 'The entries of one curated file with their provenance, now or as they were at a time.',
    roles: operator,
    effect: 'read',
    params: object({ file: oneOf(...curatedFiles) }, { at: text({ maxLength: 64 }) }),
    returns: returns<MemoryShow>(
      '{ file, version, used, limit, entries: [{text, created?, changed?, origin?, near?}] }',
    ),
  },
  'memory/pending': {
    about: 'Writes of a model that wait for approval.',
    roles: operator,
    effect: 'read',
    params: object({}),
    returns: returns<{ pending: PendingChange[] }>(
      '{ pending: [{id, file, at, action, text?, old?, origin?}] }',
    ),
  },
  'memory/decide': {
    about: 'Approves or rejects one pending write.',
    roles: operator,
    effect: 'exclusive',
    params: object({ id: text({ maxLength: 64 }), approve: flag() }, { request_id: requestId }),
    returns: returns<{ decided: 'approved' | 'rejected'; reply?: MemoryReply }>('{ decided, reply? }'),
  },
  recall: {
    about: 'What past sessions and runs say about a query, best first, with its context.',
    roles: all,
    effect: 'read',
    params: recallParams,
    returns: returns<RecallReply>(
      '{ hits: [{source, session|run, record, …}], tier, filters, index, forgotten, note?, next? }',
    ),
  },
  updated: {
    about: "Says that a session's log has grown or is gone; answers when what was read can be found.",
    roles: all,
    effect: 'read',
    params: object({ session: sessionId }),
    returns: returns<{ session: string; indexed: number; behind: number }>('{ session, indexed, behind }'),
  },
  'record/put': {
    about: 'Stores one record of a kind.',
    roles: all,
    effect: 'queue',
    params: object({ kind, record: anyObject() }, { run_id: text(), request_id: requestId }),
    returns: returns<{ key: string; seq?: number }>('{ key, seq? }'),
  },
  'record/get': {
    about: 'One record of a kind that replaces, or null.',
    roles: all,
    effect: 'read',
    params: object(
      { kind: oneOf(...replacedKinds), run_id: text() },
      { target: text(), key: text(), iteration: sequence },
    ),
    returns: returns<{ record: Record<string, unknown> | null }>('{ record } or { record: null }'),
  },
  'record/list': {
    about: 'The records of a kind, a page at a time.',
    roles: all,
    effect: 'read',
    params: object({ kind }, { run_id: text(), limit, cursor, order: oneOf('asc', 'desc') }),
    returns: returns<{ records: ListedRecord[]; damaged?: string[]; next?: string }>(
      '{ records: [{key, seq?, record}], damaged?: [key], next? }',
    ),
  },
  'record/runs': {
    about: 'The runs that have a checkpoint, in key order.',
    roles: all,
    effect: 'read',
    params: object({}, { limit, cursor }),
    returns: returns<{ runs: string[]; next?: string }>('{ runs: [run_id, …], next? }'),
  },
  'record/scores': {
    about: 'How each skill has done over all its trials.',
    roles: all,
    effect: 'read',
    params: object({}),
    returns: returns<{ scores: SkillScore[]; damaged?: string[] }>(
      '{ scores: [{skill, trials, satisfied, satisfaction_rate, mean_pass_rate, source, sources}], damaged?: [key] }',
    ),
  },
  'record/carry': {
    about: 'The last summaries of a run, rendered for its next iteration.',
    roles: all,
    effect: 'read',
    params: object({ run_id: text(), depth: integer(0, 1000) }),
    returns: returns<{ text: string; left_out?: number; damaged?: string[] }>(
      '{ text, left_out?, damaged?: [key] }',
    ),
  },
  'record/flush': {
    about: 'Everything written before is on the disk when this answers.',
    roles: all,
    effect: 'exclusive',
    params: object({}, { request_id: requestId }),
    returns: returns<Record<string, never>>('{}'),
  },
  status: {
    about: 'State, versions, sizes, backlog, jobs, usage of the curated files, faults by code.',
    roles: all,
    effect: 'read',
    params: object({}),
    returns: returns<StatusReply>(
      '{ state, version, pid, uptime_s, home, store, index, memory, sessions, jobs, faults }',
    ),
  },
  probe: {
    about: 'A real write, its indexing and its recall, end to end.',
    roles: operator,
    effect: 'exclusive',
    params: object({}),
    returns: returns<{ ok: boolean; steps: { step: string; ms: number }[] }>('{ ok, steps: [{step, ms}] }'),
  },
  reindex: {
    about: 'Rebuilds the recall index while it goes on answering.',
    roles: operator,
    effect: 'read',
    params: object({}),
    returns: returns<{ state: string; records: number }>('{ state, records }'),
  },
  verify: {
    about: 'Reads every record and compares the index with a rebuild.',
    roles: operator,
    effect: 'read',
    params: object({}),
    returns: returns<VerifyReply>('{ ok, records, damaged: [key], index: {equal, differences} }'),
  },
  forget: {
    about: 'Forgets a session, a run or what matches, and says what was found where.',
    roles: operator,
    effect: 'exclusive',
    params: object(
      {},
      { session: sessionId, run_id: text(), text: text(), dry_run: flag(), request_id: requestId },
    ),
    returns: returns<ForgetReply>('{ dry_run, sessions, records, curated, index, baselines, backups }'),
  },
  export: {
    about:
      'One page of everything that memoryd owns, as lines of JSON; with `cut` the last one goes on in the next page.',
    roles: operator,
    effect: 'read',
    params: object({}, { cursor, limit }),
    returns: returns<{ lines: string[]; cut?: true; next?: string }>('{ lines: [json], cut?, next? }'),
  },
  import: {
    about: 'Takes lines of an export back in, once each, with their order and times.',
    roles: operator,
    effect: 'exclusive',
    params: object({ lines: list(anything(), { maxItems: 1000 }) }, { request_id: requestId }),
    returns: returns<{ stored: number; known: number }>('{ stored, known }'),
  },
  backup: {
    about: 'A consistent copy of the store and the curated files into a folder on the device.',
    roles: operator,
    effect: 'read',
    params: object({ to: text({ maxLength: 4000 }) }),
    returns: returns<{ path: string; files: number; bytes: number; records: number }>(
      '{ path, files, bytes, records }',
    ),
  },
  compact: {
    about: 'Gives the space of deleted records back to the disk.',
    roles: operator,
    effect: 'read',
    params: object({}),
    returns: returns<{ before: number; after: number }>('{ before, after } in bytes'),
  },
} as const satisfies Protocol;

export type MemorydProtocol = typeof memorydProtocol;

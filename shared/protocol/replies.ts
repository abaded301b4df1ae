/** What memoryd answers, and the names that params and replies share. */
import type { Role } from './method.ts';

export const curatedFiles = ['memory', 'user'] as const;
export type CuratedFile = (typeof curatedFiles)[number];

export const recallSources = ['message', 'tool', 'episode', 'summary'] as const;
export type RecallSource = (typeof recallSources)[number];
export type RecallRole = 'person' | 'assistant' | 'tool' | 'run';

export interface MemoryReply {
  file: CuratedFile;
  /** sha256 of the file's entries, lower-case hex. */
  version: string;
  entries: string[];
  /** Code points of the entries plus one for each separator between them. */
  used: number;
  limit: number;
  changed: { before: string | null; after: string | null }[];
  note?: string;
}

export interface FileUsage {
  used: number;
  limit: number;
  entries: number;
}

export interface BlockReply {
  text: string;
  /** sha256 of `text`, lower-case hex. */
  version: string;
  files: Record<CuratedFile, FileUsage>;
  /** An estimate that errs high. */
  tokens: number;
}

export interface Neighbour {
  record: number;
  role: RecallRole;
  text: string;
}

export interface Hit {
  source: RecallSource;
  session?: string;
  run?: string;
  /** `seq` in the session log, or in the record plane. */
  record: number;
  turn?: number;
  at: string;
  role: RecallRole;
  name?: string;
  ref?: string;
  score: number;
  text: string;
  /** The text is a part of the record, around its match. */
  cut?: boolean;
  before: Neighbour[];
  after: Neighbour[];
}

export interface RecallReply {
  hits: Hit[];
  /** Which way of looking answered. */
  tier: string;
  filters: Record<string, unknown>;
  index: { state: 'ok' | 'catching-up' | 'damaged'; behind: number };
  /** Sessions left out because they were forgotten, counted over all sessions. */
  forgotten: number;
  note?: string;
  next?: string;
}

export interface StatusReply {
  state: 'ready' | 'degraded' | 'stopping';
  version: string;
  pid: number;
  uptime_s: number;
  home: string;
  store: { state: string; [detail: string]: unknown };
  index: { state: string; behind: number; [detail: string]: unknown };
  memory: Record<
    CuratedFile,
    { used: number; limit: number; entries: number; state: string; [detail: string]: unknown }
  >;
  sessions: { logs: number; missing: string[]; [detail: string]: unknown };
  jobs: Record<string, { last_success?: string; last_failure?: string; [detail: string]: unknown }>;
  /** How often each code was answered or logged since the start. */
  faults: Record<string, number>;
  [detail: string]: unknown;
}

export interface ListedRecord {
  key: string;
  seq?: number;
  record: Record<string, unknown>;
}

export interface SkillScore {
  skill: string;
  trials: number;
  satisfied: number;
  satisfaction_rate: number;
  mean_pass_rate: number;
  /** The first seen. */
  source: string;
  sources: string[];
}

export interface MemoryChange {
  seq: number;
  at: string;
  file: CuratedFile;
  action: string;
  changed: { before: string | null; after: string | null }[];
  reason?: string;
  origin?: { session?: string; turn?: number };
  by: 'hand' | Role;
}

export interface MemoryShow {
  file: CuratedFile;
  version: string;
  used: number;
  limit: number;
  entries: {
    text: string;
    created?: string;
    changed?: string;
    origin?: { session?: string; turn?: number };
    by?: 'hand' | Role;
    /** Index of an earlier entry that says nearly the same. */
    near?: number;
  }[];
}

export interface PendingChange {
  id: string;
  file: CuratedFile;
  at: string;
  params: Record<string, unknown>;
}

export interface VerifyReply {
  ok: boolean;
  records: number;
  damaged: string[];
  index: { equal: boolean; differences: string[] };
}

export interface ForgetReply {
  dry_run: boolean;
  sessions: string[];
  records: number;
  curated: { file: CuratedFile; entries: number }[];
  index: number;
  /** Sessions whose frozen baseline holds what is forgotten. */
  baselines: string[];
  /** Backups that still hold it: told, not done. */
  backups: string[];
}

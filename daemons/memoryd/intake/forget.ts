/** Forgets one session, one run, or everything that says a text: from index, records and curated history. */
import { AppError } from '../../../shared/errors.ts';
import { ParamsError } from '../../../shared/params-error.ts';
import type { CuratedFile, ForgetReply } from '../../../shared/protocol/replies.ts';
import { isSessionId } from '../../../shared/protocol/sessions.ts';
import type { FedIndex, FeedSources } from './fed-index.ts';
import { findInLogs, type FoundInLog } from './find-in-logs.ts';
import { forgetRecordsOf, forgetReplies } from './forget-records.ts';
import type { IntakeStore } from './intake-store.ts';
import { forgetSession } from './forget-session.ts';
import { sessionOf } from './items.ts';
import { matcherOf, saysIn, type Matcher } from './matcher.ts';

export interface ForgetParams {
  readonly session?: string;
  readonly run_id?: string;
  readonly text?: string;
  readonly dry_run?: boolean;
}

interface ForgottenEntries {
  readonly file: CuratedFile;
  readonly entries: number;
}

export interface CuratedForgetting {
  /** The entries of a file and of its history that match; with `dryRun` they are only counted. */
  forgetMatching(
    matches: Matcher,
    options: { readonly dryRun: boolean },
  ): Promise<readonly ForgottenEntries[]>;
  /** What the session wrote, and that it did. */
  forgetSession(session: string, options: { readonly dryRun: boolean }): Promise<readonly ForgottenEntries[]>;
}

export interface ForgetOptions {
  readonly sources: FeedSources;
  readonly store: IntakeStore;
  readonly curated: CuratedForgetting;
  readonly nowMs: () => number;
  /** Backups that were made here; they keep what is forgotten, and whoever asks is told. */
  readonly backups: () => Promise<readonly string[]>;
}

/** While nothing is read into the index. @throws AppError session-unknown where there is no such session and never was */
export async function forget(
  options: ForgetOptions,
  fed: FedIndex,
  params: ForgetParams,
): Promise<ForgetReply> {
  const { session, run_id, text, dry_run = false } = params;
  const asked = [session, run_id, text].filter((one) => one !== undefined);
  if (asked.length !== 1)
    throw new ParamsError('params', 'forget takes exactly one of session, run_id and text');
  const work = { ...options, fed, dryRun: dry_run };
  const found = emptyReport(dry_run);
  if (session !== undefined) await forgetOneSession(work, session, found);
  else if (run_id !== undefined) await forgetRun(work, run_id, found);
  else await forgetText(work, text ?? '', found);
  return { ...found, backups: [...(await options.backups())] };
}

interface Work extends ForgetOptions {
  readonly fed: FedIndex;
  readonly dryRun: boolean;
}

function emptyReport(dryRun: boolean): ForgetReply {
  return { dry_run: dryRun, sessions: [], records: 0, curated: [], index: 0, baselines: [], backups: [] };
}

async function forgetOneSession(work: Work, session: string, report: ForgetReply): Promise<void> {
  if (!isSessionId(session)) throw unknown(session);
  const { fed, sources, dryRun } = work;
  const progress = fed.sessions.progressOf(session);
  const hasLog = (await sources.folder.stat(session)) !== undefined;
  if (progress === undefined && !hasLog && sources.tombstones.get(session)?.whole !== true)
    throw unknown(session);
  report.sessions.push(session);
  report.index = progress?.counts.items ?? 0;
  report.curated = curatedReport(await work.curated.forgetSession(session, { dryRun }));
  if (dryRun) return;
  const firstLine = hasLog ? await fed.sessions.firstLine(session) : undefined;
  await forgetSession(fed, {
    ...sources,
    session,
    nowMs: work.nowMs,
    ...(firstLine === undefined ? {} : { firstLine }),
  });
}

function unknown(session: string): AppError {
  return new AppError('session-unknown', `there is no session ${JSON.stringify(session)}`);
}

/** Files of which nothing was forgotten are left out. */
function curatedReport(forgotten: readonly ForgottenEntries[]): ForgetReply['curated'] {
  return forgotten.filter(({ entries }) => entries > 0).map(({ file, entries }) => ({ file, entries }));
}

/** All of it goes: what the run did, its goals, checkpoint, notes, summaries, trials and proposals. */
async function forgetRun(work: Work, run: string, report: ForgetReply): Promise<void> {
  const counts = await forgetRecordsOf(work, {
    run,
    isOfIt: (kind, record) => kind !== 'skill_trial' || record['run_id'] === run,
  });
  report.records = counts.records;
  report.index = counts.items;
}

async function forgetText(work: Work, text: string, report: ForgetReply): Promise<void> {
  const matches = matcherOf(text);
  if (matches === undefined) throw new ParamsError('text', 'text says nothing that could be forgotten', text);
  const { sources, dryRun } = work;
  for await (const found of findInLogs(sources.folder, matches, sources.lineBytesMax)) {
    if (found.isInBaseline) report.baselines.push(found.session);
    if (found.isSaid) report.sessions.push(found.session);
    report.index += found.records.length;
    if (!dryRun && found.records.length > 0) await forgetLines(work, found);
  }
  const counts = await forgetRecordsOf(work, { isOfIt: (_kind, record) => saysIn(record, matches) });
  report.records = counts.records;
  report.index += counts.items;
  // Records leave the disk now, not when the index finds time for it.
  if (!dryRun && report.index > 0) await work.fed.index.settle();
  await forgetReplies(work, matches);
  report.curated = curatedReport(await work.curated.forgetMatching(matches, { dryRun }));
}

/** The log itself is its owner's to rewrite; until then, and should it come back, its lines stay forgotten. */
async function forgetLines(work: Work, { session, records }: FoundInLog): Promise<void> {
  const { fed, sources, nowMs } = work;
  const lines = records.map(({ line }) => line);
  await sources.tombstones.add(fed.index, session, { atMs: nowMs(), whole: false, lines });
  await fed.index.forgetRecords(
    sessionOf(session),
    records.map(({ record }) => record),
  );
  sources.texts.drop(sessionOf(session));
}

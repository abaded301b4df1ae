/** What a wish for a change comes to on the entries as they are: an outcome, and what the history would say of it. */
import { AppError } from '../../../shared/errors.ts';
import type { Role } from '../../../shared/protocol/method.ts';
import type { RecordOperation } from '../store/record-store.ts';
import { act, versionOf, type Outcome } from './actions.ts';
import { sameEntries } from './entry-diff.ts';
import type { Change, History } from './history.ts';
import type { MemoryRequest } from './memory-params.ts';

export interface Wish {
  readonly request: MemoryRequest;
  readonly by: Role;
  /** Operations that belong into the same commit, such as the remembered reply. */
  readonly beside: (outcome: Outcome) => readonly RecordOperation[];
  /** What takes those back. */
  readonly withdrawn: (outcome: Outcome) => readonly RecordOperation[];
  /** Refused where the file is not at this version any more. */
  readonly version?: string;
}

export interface Judged {
  readonly outcome: Outcome;
  /** Undefined where the outcome changes nothing. */
  readonly change?: Change;
}

/** A change on its way into history and file. */
export interface Proposal {
  readonly change: Change;
  readonly hand: Change | undefined;
  readonly beside: readonly RecordOperation[];
  readonly withdrawn: () => readonly RecordOperation[];
}

export type Asked = Pick<Wish, 'request' | 'by' | 'version'>;

interface Grounds {
  readonly history: History;
  readonly limit: number;
  readonly at: string;
  readonly entries: readonly string[];
  /** What people did since the last change, if anything; it is the last change then. */
  readonly hand: Change | undefined;
}

/** @throws AppError as the actions do. */
export async function judge(
  { request, by, version }: Asked,
  { history, limit, at, entries, hand }: Grounds,
): Promise<Judged> {
  if (version !== undefined && version !== versionOf(entries)) {
    throw new AppError('memory-changed', 'the file has changed since this was asked for', {
      details: { version: versionOf(entries), entries },
    });
  }
  const { operations, isBatch, reason, origin } = request;
  const undos = operations.filter(({ action }) => action === 'undo').length;
  const earlier = undos === 0 ? [] : await history.earlier(undos, hand);
  const situation = { entries, limit, earlier, maySayCredentials: by === 'ops' };
  const outcome = act(situation, operations, isBatch);
  if (sameEntries(outcome.entries, entries)) return { outcome };
  const tookBack = isBatch ? undefined : earlier[0]?.seq;
  const change = history.change({
    at,
    action: isBatch ? 'operations' : (operations[0]?.action ?? 'operations'),
    by,
    before: entries,
    changed: outcome.changed,
    entries: outcome.entries,
    ...(reason === undefined ? {} : { reason }),
    ...(origin === undefined ? {} : { origin }),
    ...(tookBack === undefined ? {} : { took_back: tookBack }),
  });
  return { outcome, change };
}

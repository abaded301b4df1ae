/** Takes texts out of the history of a file: the one case in which its records are rewritten. */
import type { RecordOperation } from '../store/record-store.ts';
import type { HistoryHead } from './history-head.ts';
import type { Change, History } from './history.ts';

/** What stands in a change in the place of a text that was forgotten. */
export const forgottenMark = '[forgotten]';

export interface Forgotten {
  readonly entries: number;
  /** Changes of the history that held something. */
  readonly changes: number;
}

/** So many records are rewritten in one commit. */
const commitMax = 200;

/** Every text that a session wrote into the file. */
export async function textsOfSession(history: History, session: string): Promise<Set<string>> {
  const texts = new Set<string>();
  for await (const change of history.walk()) {
    if (change?.origin?.session !== session) continue;
    for (const { after } of change.changed) if (after !== null && after !== forgottenMark) texts.add(after);
  }
  return texts;
}

export interface Forgetting {
  readonly isForgotten: (text: string) => boolean;
  /** Its name and its reasons go too. */
  readonly session: string | undefined;
  readonly isDryRun: boolean;
}

export async function redact({
  history,
  head,
  isForgotten,
  session,
  isDryRun,
}: Forgetting & { history: History; head: HistoryHead }): Promise<number> {
  let operations: RecordOperation[] = [];
  let changes = 0;
  for await (const change of history.walk()) {
    const redacted = change && redactedChange(change, isForgotten, session);
    if (!redacted) continue;
    changes += 1;
    if (isDryRun) continue;
    operations.push(history.put(redacted));
    if (operations.length < commitMax) continue;
    await head.commit(operations);
    operations = [];
  }
  if (operations.length > 0) await head.commit(operations);
  return changes;
}

/** Undefined where the change holds nothing to forget. */
function redactedChange(
  change: Change,
  isForgotten: (text: string) => boolean,
  session: string | undefined,
): Change | undefined {
  const { reason, origin, ...rest } = change;
  const blank = (text: string | null) => (text !== null && isForgotten(text) ? forgottenMark : text);
  const isOfSession = session !== undefined && origin?.session === session;
  const keepsReason = reason !== undefined && !isOfSession && !isForgotten(reason);
  const redacted: Change = {
    ...rest,
    entries: change.entries.filter((entry) => !isForgotten(entry)),
    changed: change.changed.map(({ before, after }) => ({ before: blank(before), after: blank(after) })),
    ...(keepsReason ? { reason } : {}),
    ...(origin === undefined || isOfSession ? {} : { origin }),
  };
  return JSON.stringify(sorted(redacted)) === JSON.stringify(sorted(change)) ? undefined : redacted;
}

/** The same members in one order, so that two changes compare. */
function sorted(change: Change): [string, unknown][] {
  return Object.entries(change).toSorted(([left], [right]) => (left < right ? -1 : 1));
}

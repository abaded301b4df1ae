/** Where a text is said in session logs: which can be forgotten here, and which only their owner can rewrite. */
import type { SessionRecord } from '../../../shared/protocol/sessions.ts';
import { digestOf } from './digest.ts';
import { itemOfRecord } from './items.ts';
import { saysIn, type Matcher } from './matcher.ts';
import { readLine } from './session-line.ts';
import { SessionLog } from './session-log.ts';
import type { SessionsFolder } from './sessions-folder.ts';

export interface FoundInLog {
  readonly session: string;
  /** Somewhere besides the baseline. */
  readonly isSaid: boolean;
  readonly isInBaseline: boolean;
  /** Records that can be found by recall, with the digests of their lines. */
  readonly records: readonly { readonly record: number; readonly line: string }[];
}

/** Every log of the folder in which it is said, one after another. */
export async function* findInLogs(
  folder: SessionsFolder,
  matches: Matcher,
  lineBytesMax: number,
): AsyncGenerator<FoundInLog, void, undefined> {
  for (const session of await folder.sessions()) {
    const log = SessionLog.open(folder.pathOf(session), lineBytesMax);
    if (log === undefined) continue;
    try {
      const found = await findIn(log, session, matches);
      if (found.isSaid || found.isInBaseline) yield found;
    } finally {
      log.close();
    }
  }
}

async function findIn(log: SessionLog, session: string, matches: Matcher): Promise<FoundInLog> {
  let isSaid = false;
  let isInBaseline = false;
  const records: { record: number; line: string }[] = [];
  for await (const { lines } of log.lines(0)) {
    for (const line of lines) {
      const record = readLine(line.bytes)?.record;
      if (record === undefined) continue;
      const { baseline, rest } = partsOf(record);
      isInBaseline ||= saysIn(baseline, matches);
      if (!saysIn(rest, matches)) continue;
      isSaid = true;
      if (itemOfRecord(record, '') !== undefined)
        records.push({ record: record.seq, line: digestOf(line.bytes) });
    }
  }
  return { session, isSaid, isInBaseline, records };
}

function partsOf(record: SessionRecord): { baseline: unknown; rest: unknown } {
  if (record.type !== 'session') return { baseline: '', rest: record };
  const { baseline, ...rest } = record;
  return { baseline, rest };
}

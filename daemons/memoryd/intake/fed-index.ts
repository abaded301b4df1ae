/** A recall index with what feeds it: the one that answers, or one that is built beside it. */
import type { Log } from '../../../shared/log.ts';
import type { IntakeStore } from './intake-store.ts';
import type { IndexPort } from './index-port.ts';
import { RecordFeed } from './record-feed.ts';
import { SessionFeed } from './session-feed.ts';
import { sessionKeys, sessionOfKey } from './session-progress.ts';
import type { FoundLog, SessionsFolder } from './sessions-folder.ts';
import type { KeptTexts } from './texts.ts';
import type { Tombstones } from './tombstones.ts';

export interface FeedSources {
  readonly folder: SessionsFolder;
  readonly store: IntakeStore;
  readonly texts: KeptTexts;
  readonly tombstones: Tombstones;
  readonly lineBytesMax: number;
  readonly log: Log;
}

export class FedIndex {
  readonly index: IndexPort;
  readonly sessions: SessionFeed;
  readonly records: RecordFeed;

  constructor(index: IndexPort, sources: FeedSources, onRead?: (session: string, records: number) => void) {
    this.index = index;
    this.sessions = new SessionFeed({ ...sources, index, ...(onRead === undefined ? {} : { onRead }) });
    this.records = new RecordFeed(index, sources.store);
  }

  /** Sessions that were read at some time, and not forgotten since. */
  async knownSessions(): Promise<string[]> {
    const keys = await this.index.progressKeys(sessionKeys);
    return keys.filter((key) => (this.index.progress(key) ?? '') !== '').map(sessionOfKey);
  }

  /** Those whose logs grew or were never read, the newest first: what people ask about is mostly recent. */
  unread(logs: readonly FoundLog[]): FoundLog[] {
    return logs
      .filter(({ session, file }) => !this.sessions.isRead(session, file))
      .toSorted((one, other) => other.file.mtimeMs - one.file.mtimeMs);
  }

  /** Reads everything; it stops between where it is asked to. @returns whether it came to the end. */
  async catchUp(logs: readonly FoundLog[], mustStop: () => boolean): Promise<boolean> {
    for (const { session } of this.unread(logs)) {
      const result = await this.sessions.read(session, mustStop);
      if (result.outcome === 'read' && !result.isComplete) return false;
    }
    this.records.recheck();
    return await this.records.settle(mustStop);
  }
}

/** How far one session log was read, as it is kept in the index beside what was read. */
import type { SessionFacts } from '../recall/item.ts';
import type { OwnWordsState } from './own-words.ts';
import type { LogMark } from './session-log.ts';
import type { FolderMark } from './sessions-folder.ts';

export interface SessionProgress extends OwnWordsState {
  readonly log: LogMark;
  /** All whole lines were read that the log had then; otherwise more of them follow. */
  readonly isAtEnd: boolean;
  /** The folder that the log lay in. */
  readonly folder: FolderMark | undefined;
  /** sha256 of the first line, by which a forgotten log is known again. */
  readonly firstLine: string | undefined;
  readonly origin: SessionFacts['origin'];
  readonly startedMs: number;
  /** Of the next record that is new; lower ones were read before. */
  readonly nextSeq: number;
  readonly counts: LineCounts;
}

export interface LineCounts {
  /** Records read, whether or not there is something in them to find. */
  readonly records: number;
  /** Of these, how many can be found. */
  readonly items: number;
  /** Lines that hold no record. */
  readonly unreadable: number;
  /** Lines over the limit. */
  readonly oversized: number;
  /** Records found behind the rest of a broken line. */
  readonly salvaged: number;
  /** Records with a number that was read before. */
  readonly repeated: number;
}

export const noLines: LineCounts = {
  records: 0,
  items: 0,
  unreadable: 0,
  oversized: 0,
  salvaged: 0,
  repeated: 0,
};

const keyPrefix = 'log/';
const version = 1;

export const sessionKeys = keyPrefix;

export function sessionKey(session: string): string {
  return keyPrefix + session;
}

export function sessionOfKey(key: string): string {
  return key.slice(keyPrefix.length);
}

export function writeProgress(progress: SessionProgress): string {
  return JSON.stringify({ v: version, ...progress });
}

/** @returns undefined for none, and for one of another version: then the log is read anew. */
export function readProgress(value: string | undefined): SessionProgress | undefined {
  if (value === undefined || value === '') return undefined;
  const progress = JSON.parse(value) as SessionProgress & { v: number };
  return progress.v === version ? progress : undefined;
}

/** How far one session log was read, as it is kept in the index beside what was read. */
import type { SessionFacts } from '../recall/item.ts';
import type { OwnWordsState } from './own-words.ts';
import type { LogMark } from './session-log.ts';

export interface SessionProgress extends OwnWordsState {
  readonly log: LogMark;
  /** All whole lines were read that the log had then; otherwise more of them follow. */
  readonly isAtEnd: boolean;
  /** The folder that the log lay in. */
  readonly folder: string | undefined;
  /** Digest of the first line, by which a forgotten log is known again. */
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
const version = 2;

export const sessionKeys = keyPrefix;

export function sessionKey(session: string): string {
  return keyPrefix + session;
}

export function sessionOfKey(key: string): string {
  return key.slice(keyPrefix.length);
}

/** As a list without names: there is one for each session, written anew with each reading. */
export function writeProgress({ log, counts, ...progress }: SessionProgress): string {
  const { offset, dev, ino, size, modifiedMs, head, tail } = log;
  const {
    isAtEnd,
    folder = null,
    firstLine = null,
    origin,
    startedMs,
    nextSeq,
    openCalls,
    isByRule,
  } = progress;
  const place = [offset, dev, ino, size, modifiedMs, head, tail, isAtEnd ? 1 : 0, folder, firstLine];
  const reading = [origin, startedMs, nextSeq, openCalls, isByRule === true ? 1 : 0];
  return JSON.stringify([version, ...place, ...reading, ...countNames.map((name) => counts[name])]);
}

const countNames = ['records', 'items', 'unreadable', 'oversized', 'salvaged', 'repeated'] as const;

type Place = [number, number, number, number, number, string, string, number, string | null, string | null];
type Reading = [SessionFacts['origin'], number, number, OwnWordsState['openCalls'], number];
type Counts = [number, number, number, number, number, number];

/** @returns undefined for none, and for one of another version: then the log is read anew. */
export function readProgress(value: string | undefined): SessionProgress | undefined {
  if (value === undefined || value === '') return undefined;
  const parsed = JSON.parse(value) as [number, ...Place, ...Reading, ...Counts];
  if (!Array.isArray(parsed) || parsed[0] !== version) return undefined;
  const [, ...fields] = parsed;
  const [offset, dev, ino, size, modifiedMs, head, tail, isAtEnd, folder, firstLine, ...rest] = fields;
  const [origin, startedMs, nextSeq, openCalls, isByRule, ...counts] = rest;
  const [records, items, unreadable, oversized, salvaged, repeated] = counts;
  return {
    log: { offset, dev, ino, size, modifiedMs, head, tail },
    isAtEnd: isAtEnd === 1,
    folder: folder ?? undefined,
    firstLine: firstLine ?? undefined,
    origin,
    startedMs,
    nextSeq,
    openCalls,
    isByRule: isByRule === 1,
    counts: { records, items, unreadable, oversized, salvaged, repeated },
  };
}

/** Reads one session log on from where it stopped, into the index. */
import type { Log } from '../../../shared/log.ts';
import type { SessionRecord } from '../../../shared/protocol/sessions.ts';
import type { Item, SessionFacts } from '../recall/item.ts';
import { digestOf } from './digest.ts';
import type { IndexPort } from './index-port.ts';
import { factsOf, itemOfRecord, sessionOf } from './items.ts';
import { OwnWords } from './own-words.ts';
import { readLine } from './session-line.ts';
import { isUntouched, SessionLog, type FileFacts, type LineBatch, type LogLine } from './session-log.ts';
import {
  noLines,
  readProgress,
  sessionKey,
  writeProgress,
  type LineCounts,
  type SessionProgress,
} from './session-progress.ts';
import type { SessionsFolder } from './sessions-folder.ts';
import type { KeptTexts } from './texts.ts';
import type { Tombstone, Tombstones } from './tombstones.ts';

export type FeedResult =
  | { readonly outcome: 'read'; readonly counts: LineCounts; readonly isComplete: boolean }
  /** There is no log. */
  | { readonly outcome: 'absent' }
  /** The log is that of a session that was forgotten. */
  | { readonly outcome: 'forgotten' };

export interface SessionFeedOptions {
  readonly index: IndexPort;
  readonly folder: SessionsFolder;
  readonly tombstones: Tombstones;
  readonly texts: KeptTexts;
  readonly lineBytesMax: number;
  readonly log: Log;
  /** Told as the records of a session become findable. */
  readonly onRead?: (session: string, records: number) => void;
}

export class SessionFeed {
  readonly #options: SessionFeedOptions;

  constructor(options: SessionFeedOptions) {
    this.#options = options;
  }

  progressOf(session: string): SessionProgress | undefined {
    return readProgress(this.#options.index.progress(sessionKey(session)));
  }

  /** Whether nothing happened to the log since it was read to its end. */
  isRead(session: string, file: FileFacts): boolean {
    const progress = this.progressOf(session);
    return progress?.isAtEnd === true && isUntouched(progress.log, file);
  }

  /** Lines of the log that are not read yet, whole ones; a log that was rewritten counts from its start. */
  async behind(session: string): Promise<number> {
    const log = this.#open(session);
    if (log === undefined) return 0;
    try {
      const progress = this.progressOf(session);
      const isSame = progress !== undefined && log.continues(progress.log);
      return await log.countLines(isSame ? progress.log.offset : 0);
    } finally {
      log.close();
    }
  }

  /**
   * What is whole when the log is opened can be found when this returns, unless it was asked to make way between.
   * The caller reads one session once at a time.
   */
  async read(session: string, mustMakeWay: () => boolean = () => false): Promise<FeedResult> {
    const log = this.#open(session);
    if (log === undefined) return { outcome: 'absent' };
    try {
      if (await this.#isForgotten(session, log)) return { outcome: 'forgotten' };
      const known = await this.#known(session, log);
      const folder = this.#options.folder.mark();
      const reading = new Reading(session, known, this.#options.tombstones.get(session));
      for await (const batch of log.lines(reading.offset)) {
        reading.take(batch);
        const isEnd = batch.isLast;
        if (!isEnd && reading.isDue) await this.#append(reading, { log, folder, isAtEnd: false });
        if (!isEnd && mustMakeWay()) {
          if (reading.isChanged) await this.#append(reading, { log, folder, isAtEnd: false });
          return { outcome: 'read', counts: reading.counts, isComplete: false };
        }
      }
      if (reading.isChanged || known === undefined || !this.isRead(session, log.facts))
        await this.#append(reading, { log, folder, isAtEnd: true });
      return { outcome: 'read', counts: reading.counts, isComplete: true };
    } finally {
      log.close();
    }
  }

  /** Digest of the first line of the log; undefined where there is none. */
  async firstLine(session: string): Promise<string | undefined> {
    const log = this.#open(session);
    if (log === undefined) return undefined;
    try {
      return await firstLineOf(log);
    } finally {
      log.close();
    }
  }

  #open(session: string): SessionLog | undefined {
    const { folder, lineBytesMax } = this.#options;
    return SessionLog.open(folder.pathOf(session), lineBytesMax);
  }

  /** The old log come back stays forgotten; another one of the same id was made on purpose, and lifts the tombstone. */
  async #isForgotten(session: string, log: SessionLog): Promise<boolean> {
    const { tombstones, index } = this.#options;
    const tombstone = tombstones.get(session);
    if (tombstone?.whole !== true) return false;
    if (tombstone.firstLine === undefined) return true;
    const first = await firstLineOf(log);
    if (first === undefined || first === tombstone.firstLine) return true;
    await tombstones.lift(index, session);
    return false;
  }

  /** How far this log was read; undefined where it was not, or is no longer the one that was. */
  async #known(session: string, log: SessionLog): Promise<SessionProgress | undefined> {
    const kept = this.#options.index.progress(sessionKey(session)) ?? '';
    if (kept === '') return undefined;
    const progress = readProgress(kept);
    if (progress !== undefined && log.continues(progress.log)) return progress;
    const reason = progress === undefined ? 'was read by another version' : 'was rewritten';
    this.#options.log.info({ session }, `the session log ${reason} and is read anew`);
    await this.#options.index.forget(sessionOf(session));
    this.#options.texts.drop(sessionOf(session));
    return undefined;
  }

  async #append(reading: Reading, reached: Reached): Promise<void> {
    const { facts, items, progress } = reading.next(reached);
    const key = sessionKey(facts.id);
    await this.#options.index.append(facts, items, { key, value: writeProgress(progress) });
    this.#options.onRead?.(facts.id, reading.counts.records);
  }
}

interface Reached {
  readonly log: SessionLog;
  readonly folder: string | undefined;
  readonly isAtEnd: boolean;
}

/** The session is no longer in the index, and its log would be read from its start. */
export async function dropProgress(index: IndexPort, session: string): Promise<void> {
  await index.append(factsOf(session, undefined), [], { key: sessionKey(session), value: '' });
}

/** @returns undefined where the log has no whole line yet. */
async function firstLineOf(log: SessionLog): Promise<string | undefined> {
  for await (const { lines } of log.lines(0)) {
    const [first] = lines;
    if (first !== undefined) return digestOf(first.bytes);
  }
  return undefined;
}

/** Items are handed on when they hold so much text, so that a huge log takes no more memory than a small one. */
const textLengthDue = 256 * 1024;
const itemsDue = 512;

/** The state of reading one log. */
class Reading {
  readonly #session: string;
  readonly #ownWords: OwnWords;
  readonly #forgottenLines: ReadonlySet<string>;
  #facts: SessionFacts | undefined;
  #firstLine: string | undefined;
  #nextSeq: number;
  #counts: LineCounts;
  #items: Item[] = [];
  #textLength = 0;
  #offset: number;
  isChanged = false;

  constructor(session: string, known: SessionProgress | undefined, tombstone: Tombstone | undefined) {
    this.#session = session;
    this.#ownWords = new OwnWords(known);
    this.#forgottenLines = new Set(tombstone?.lines);
    this.#counts = known?.counts ?? noLines;
    this.#nextSeq = known?.nextSeq ?? 0;
    this.#offset = known?.log.offset ?? 0;
    this.#firstLine = known?.firstLine;
    if (known !== undefined && known.counts.records > 0) {
      const { origin, startedMs } = known;
      this.#facts = { kind: 'session', id: session, origin, startedMs };
    }
  }

  get offset(): number {
    return this.#offset;
  }

  get counts(): LineCounts {
    return this.#counts;
  }

  get isDue(): boolean {
    return this.#items.length >= itemsDue || this.#textLength >= textLengthDue;
  }

  take({ lines, end, oversized }: LineBatch): void {
    this.isChanged = true;
    for (const line of lines) this.#takeLine(line);
    if (oversized > 0) this.#count({ oversized });
    this.#offset = end;
  }

  /** What was taken since the last time, with how far the log is read by it. */
  next({ log, folder, isAtEnd }: Reached): {
    facts: SessionFacts;
    items: Item[];
    progress: SessionProgress;
  } {
    const facts = this.#facts ?? factsOf(this.#session, undefined);
    const items = this.#items;
    this.#items = [];
    this.#textLength = 0;
    this.isChanged = false;
    const progress: SessionProgress = {
      log: log.markAt(this.#offset),
      isAtEnd,
      folder,
      firstLine: this.#firstLine,
      origin: facts.origin,
      startedMs: facts.startedMs,
      nextSeq: this.#nextSeq,
      ...this.#ownWords.state,
      counts: this.#counts,
    };
    return { facts, items, progress };
  }

  #takeLine(line: LogLine): void {
    this.#firstLine ??= digestOf(line.bytes);
    const read = readLine(line.bytes);
    if (read === undefined) return this.#count({ unreadable: 1 });
    if (read.start > 0) this.#count({ salvaged: 1 });
    const { record } = read;
    if (record.seq < this.#nextSeq) return this.#count({ repeated: 1 });
    this.#nextSeq = record.seq + 1;
    this.#facts ??= factsOf(this.#session, record);
    this.#count({ records: 1 });
    const isFindable = this.#ownWords.take(record);
    if (isFindable && !this.#isForgotten(line)) this.#takeRecord(record, line, read.start);
  }

  #takeRecord(record: SessionRecord, line: LogLine, start: number): void {
    const locator = `${line.offset + start}:${line.bytes.length - start}`;
    const item = itemOfRecord(record, locator);
    if (item === undefined) return;
    this.#count({ items: 1 });
    this.#items.push(item);
    this.#textLength += item.text.length;
  }

  #isForgotten(line: LogLine): boolean {
    return this.#forgottenLines.size > 0 && this.#forgottenLines.has(digestOf(line.bytes));
  }

  #count(more: Partial<LineCounts>): void {
    const counts = { ...this.#counts };
    for (const [name, by] of Object.entries(more) as [keyof LineCounts, number][]) counts[name] += by;
    this.#counts = counts;
  }
}

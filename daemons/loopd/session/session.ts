/** An open session: its log and what of it is in memory, kept in step; turns are accepted here. */
import { AppError } from '../../../shared/errors.ts';
import type { SessionBody, SessionRecord } from '../../../shared/protocol/sessions.ts';
import { History } from './history.ts';
import { SessionLog, type DatedBody, type LogOptions } from './session-log.ts';

export interface Prompt {
  readonly text: string;
  readonly name?: string;
  readonly requestId?: string;
}

export interface Accepted {
  readonly turn: number;
  /** False where the same request came before: its turn runs, or is over. */
  readonly isNew: boolean;
}

export class Session {
  readonly log: SessionLog;
  readonly history: History;
  /** A session in use is not closed to make room for another. */
  isBusy = false;

  private constructor(log: SessionLog, history: History) {
    this.log = log;
    this.history = history;
  }

  static async open(path: string, options: LogOptions = {}): Promise<Session> {
    const history = new History();
    const log = await SessionLog.open(path, { ...options, onRecord: (record) => history.push(record) });
    return new Session(log, history);
  }

  static async create(
    path: string,
    records: Iterable<DatedBody> | AsyncIterable<DatedBody>,
    options: LogOptions = {},
  ): Promise<Session> {
    const history = new History();
    const log = await SessionLog.create(path, records, {
      ...options,
      onRecord: (record) => history.push(record),
    });
    return new Session(log, history);
  }

  get id(): string {
    return this.history.session.id;
  }

  /** @throws AppError session-write-failed, store-full, message-too-large */
  async append(body: SessionBody, options: { sync: boolean }): Promise<SessionRecord> {
    const record = await this.log.append(body, options);
    this.history.push(record);
    return record;
  }

  /**
   * Puts a turn on the disk; from then on it is not lost. The caller sees to it that none is running.
   * @throws AppError request-reused, session-busy (an unfinished turn is to be run or closed first)
   */
  async accept({ text, name, requestId }: Prompt): Promise<Accepted> {
    const known = requestId === undefined ? undefined : this.history.request(requestId);
    if (known) {
      if (known.text !== text.toWellFormed())
        throw new AppError('request-reused', `request ${requestId} was another prompt before`, {
          details: { request_id: requestId, turn: known.turn },
        });
      return { turn: known.turn, isNew: false };
    }
    if (this.history.hasUnfinishedTurn)
      throw new AppError('session-busy', `turn ${this.history.turn} of session ${this.id} is not over`, {
        details: { session: this.id, turn: this.history.turn },
      });
    const turn = this.history.turn + 1;
    await this.append(
      {
        type: 'turn',
        turn,
        text,
        ...(name === undefined ? {} : { name }),
        ...(requestId === undefined ? {} : { request_id: requestId }),
      },
      { sync: true },
    );
    return { turn, isNew: true };
  }

  close(): Promise<void> {
    return this.log.close();
  }
}

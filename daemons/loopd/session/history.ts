/** What a running session keeps in memory of its log: the records that its next prompt and its unfinished turn need. */
import { AppError } from '../../../shared/errors.ts';
import type { SessionRecord, SessionRecordOf } from '../../../shared/protocol/sessions.ts';

/** Above this the oldest finished turns are let go; no context of a model holds as much. */
const keptCharactersMax = 64 * 1024 * 1024;
/** Let go down to this at once, so that it is done seldom. */
const keptCharactersAfter = 48 * 1024 * 1024;
const requestsMax = 1000;

export interface KnownRequest {
  readonly turn: number;
  readonly text: string;
}

export class History {
  #session: SessionRecordOf<'session'> | undefined;
  #compact: SessionRecordOf<'compact'> | undefined;
  #records: SessionRecord[] = [];
  #characters = 0;
  #lastSeq = -1;
  #turn = 0;
  #end: SessionRecordOf<'end'> | undefined;
  #title: string | undefined;
  #updatedAt = '';
  #droppedTurns = 0;
  readonly #keptCharactersMax: number;
  readonly #requests = new Map<string, KnownRequest>();

  constructor(records: Iterable<SessionRecord> = [], { charactersMax = keptCharactersMax } = {}) {
    this.#keptCharactersMax = charactersMax;
    for (const record of records) this.push(record);
  }

  /** The first record: who the session is, and its baseline. */
  get session(): SessionRecordOf<'session'> {
    if (!this.#session) throw new AppError('session-damaged', 'a session without its first record');
    return this.#session;
  }

  /** What stands in the prompt for the records up to its `up_to`. */
  get compact(): SessionRecordOf<'compact'> | undefined {
    return this.#compact;
  }

  /** In order: whatever the prompt needs, and the current turn whole. */
  get records(): readonly SessionRecord[] {
    return this.#records;
  }

  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** The number of the newest turn; 0 where there is none yet. */
  get turn(): number {
    return this.#turn;
  }

  get title(): string | undefined {
    return this.#title ?? this.#session?.title;
  }

  get updatedAt(): string {
    return this.#updatedAt;
  }

  /** Finished turns that were let go because the session is larger than any context. */
  get droppedTurns(): number {
    return this.#droppedTurns;
  }

  /** The end of the newest turn; undefined while it runs or was broken off. */
  get end(): SessionRecordOf<'end'> | undefined {
    return this.#end;
  }

  get hasUnfinishedTurn(): boolean {
    return this.#turn > 0 && this.#end === undefined;
  }

  /** The turn that a `request_id` started, of the last 1,000. */
  request(id: string): KnownRequest | undefined {
    return this.#requests.get(id);
  }

  /** The records of the newest turn. */
  get current(): SessionRecord[] {
    // Always the last ones: nothing of an older turn is written while a newer one runs.
    let start = this.#records.length;
    while (start > 0 && turnOf(this.#records[start - 1]!) === this.#turn) start -= 1;
    return this.#records.slice(start);
  }

  /** Takes a record once; one that it has seen is passed over. */
  push(record: SessionRecord): void {
    if (record.seq <= this.#lastSeq) return;
    this.#lastSeq = record.seq;
    this.#updatedAt = record.at;
    switch (record.type) {
      case 'session':
        this.#session = record;
        return;
      case 'title':
        this.#title = record.title;
        return;
      case 'compact':
        this.#compact = record;
        this.#drop((kept) => kept.seq <= record.up_to && turnOf(kept) !== this.#turn);
        return;
      case 'turn':
        this.#turn = record.turn;
        this.#end = undefined;
        this.#remember(record);
        break;
      case 'end':
        if (record.turn === this.#turn) this.#end = record;
        break;
      default:
        // A later version may write types that mean nothing to a prompt.
        if (turnOf(record) === undefined) return;
    }
    this.#records.push(record);
    this.#characters += charactersOf(record);
    if (this.#characters > this.#keptCharactersMax) this.#dropOldest();
  }

  #remember({ request_id: id, turn, text }: SessionRecordOf<'turn'>): void {
    if (id === undefined) return;
    this.#requests.set(id, { turn, text });
    if (this.#requests.size > requestsMax) this.#requests.delete(this.#requests.keys().next().value!);
  }

  #dropOldest(): void {
    const goal = this.#keptCharactersMax * (keptCharactersAfter / keptCharactersMax);
    let left = this.#characters;
    const gone = new Set<number>();
    for (const record of this.#records) {
      const turn = turnOf(record)!;
      if (turn === this.#turn || (left <= goal && !gone.has(turn))) break;
      gone.add(turn);
      left -= charactersOf(record);
    }
    this.#droppedTurns += gone.size;
    this.#drop((kept) => gone.has(turnOf(kept)!));
  }

  #drop(isGone: (record: SessionRecord) => boolean): void {
    this.#records = this.#records.filter((record) => {
      if (!isGone(record)) return true;
      this.#characters -= charactersOf(record);
      return false;
    });
  }
}

export function turnOf(record: SessionRecord): number | undefined {
  return 'turn' in record ? record.turn : undefined;
}

function charactersOf(record: SessionRecord): number {
  switch (record.type) {
    case 'turn':
    case 'result':
      return record.text.length;
    case 'assistant': {
      const calls = record.calls?.reduce((sum, call) => sum + JSON.stringify(call.arguments).length, 0) ?? 0;
      return record.text.length + (record.reasoning?.length ?? 0) + calls;
    }
    default:
      return 0;
  }
}

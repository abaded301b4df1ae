/** Every error that this project reports, and the one class that carries them. */

interface ErrorKind {
  /** One sentence: what the code means, as `loopctl explain` and the runbook index print it. */
  readonly meaning: string;
  /** Exit status by sysexits, for a command that ends with this error. */
  readonly exit: number;
  /** Whether the same request can succeed later without anybody changing it. */
  readonly retryable: boolean;
}

/**
 * The table. To add a code: add its line here and its entry `runbook/<code>.md`;
 * the gate fails while table, code and runbook disagree.
 */
export const errorKinds = {
  'memory-unavailable': {
    meaning: 'A new session could not get its memory block.',
    exit: 69,
    retryable: true,
  },
  'memory-unreadable': { meaning: 'A curated file could not be read.', exit: 74, retryable: true },
  'memory-unwritable': { meaning: 'A curated file could not be written.', exit: 74, retryable: true },
  'memory-full': { meaning: 'A write would pass the limit of a curated file.', exit: 1, retryable: false },
  'memory-changed': { meaning: 'A curated file changed since it was last seen.', exit: 75, retryable: true },
  'memory-ambiguous': { meaning: 'The text to change is in several entries.', exit: 1, retryable: false },
  'memory-no-match': { meaning: 'The text to change is in no entry.', exit: 1, retryable: false },
  'memory-refused': {
    meaning: 'The text may not be an entry, or the change may not be made.',
    exit: 1,
    retryable: false,
  },
  'memory-index-damaged': {
    meaning: 'The recall index is damaged and being rebuilt.',
    exit: 65,
    retryable: true,
  },
  'store-damaged': {
    meaning: 'The record store, or a record in it, is damaged.',
    exit: 65,
    retryable: false,
  },
  'store-write-failed': { meaning: 'A write to the record store failed.', exit: 74, retryable: true },
  'store-locked': { meaning: 'Another process holds the store.', exit: 75, retryable: true },
  'store-newer': { meaning: 'The store was written by a newer version.', exit: 65, retryable: false },
  'store-full': { meaning: 'The disk is too full to write safely.', exit: 74, retryable: true },
  'session-unknown': { meaning: 'There is no session of that id.', exit: 1, retryable: false },
  'session-busy': { meaning: 'The session is running a turn.', exit: 75, retryable: true },
  'session-damaged': { meaning: 'A session log is damaged in the middle.', exit: 65, retryable: false },
  'session-write-failed': { meaning: 'A session log could not be written.', exit: 74, retryable: true },
  'baseline-unreadable': { meaning: 'system.md could not be read.', exit: 78, retryable: true },
  'baseline-too-large': {
    meaning: 'system.md and the tools exceed their token limit.',
    exit: 78,
    retryable: false,
  },
  'model-unavailable': {
    meaning: 'The model server cannot be reached or is not ready.',
    exit: 69,
    retryable: true,
  },
  'model-refused': {
    meaning: 'The model server refused the request, or its output was unusable.',
    exit: 1,
    retryable: false,
  },
  'model-loop': { meaning: 'The model repeated itself without an answer.', exit: 1, retryable: false },
  'context-full': {
    meaning: 'The conversation does not fit the context of the model.',
    exit: 1,
    retryable: false,
  },
  'tool-denied': { meaning: 'A tool call was not permitted.', exit: 77, retryable: false },
  'tool-failed': { meaning: 'A tool failed or ran out of time.', exit: 1, retryable: true },
  'broker-unavailable': {
    meaning: 'The outside broker could not decide on a tool call.',
    exit: 69,
    retryable: true,
  },
  'config-invalid': { meaning: 'A configuration file is wrong.', exit: 78, retryable: false },
  'socket-in-use': { meaning: 'Another process answers on the socket.', exit: 75, retryable: true },
  'socket-path-too-long': { meaning: 'A socket path is over 107 bytes.', exit: 78, retryable: false },
  'message-too-large': { meaning: 'A message is over the limit for one line.', exit: 65, retryable: false },
  'too-many-connections': {
    meaning: 'The daemon has all the connections it allows.',
    exit: 75,
    retryable: true,
  },
  'request-reused': {
    meaning: 'A request_id was used again with other content.',
    exit: 64,
    retryable: false,
  },
  'file-not-created': {
    meaning: 'The file that a command should write could not be created.',
    exit: 73,
    retryable: false,
  },
  rejected: { meaning: 'A record failed its check, and nothing was stored.', exit: 65, retryable: false },
  'not-permitted': { meaning: 'The role of this socket may not do that.', exit: 77, retryable: false },
  stopping: { meaning: 'The daemon is stopping.', exit: 75, retryable: true },
  'loop-unavailable': { meaning: 'loopd does not answer on its channel.', exit: 69, retryable: true },
  'notify-unavailable': {
    meaning: 'systemd expects notifications that cannot be sent.',
    exit: 78,
    retryable: false,
  },
  internal: { meaning: 'A bug: something happened that should not be possible.', exit: 70, retryable: false },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof errorKinds;

/** What a client sees of an error: `data` of a JSON-RPC error object. */
export interface ErrorData {
  code: ErrorCode;
  /** The runbook entry, `runbook/<runbook>.md`. */
  runbook: string;
  retryable: boolean;
  [detail: string]: unknown;
}

/**
 * An error with a stable code. `message` says what was tried, with the values and
 * without secrets; `details` are the fields a program decides on; `cause` stays in our log.
 */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: ErrorCode,
    message: string,
    { details = {}, cause }: { details?: Record<string, unknown>; cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.details = details;
  }

  get exit(): number {
    return errorKinds[this.code].exit;
  }

  toData(): ErrorData {
    return {
      ...this.details,
      code: this.code,
      runbook: this.code,
      retryable: errorKinds[this.code].retryable,
    };
  }
}

/** The error itself, or a bug wrapped as `internal` with the original as its cause. */
export function toAppError(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown;
  return new AppError('internal', thrown instanceof Error ? thrown.message : String(thrown), {
    cause: thrown,
  });
}

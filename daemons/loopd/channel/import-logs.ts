/** Session logs of an export come back byte for byte: whole in one message, or a long one in pieces. */
import { AppError } from '../../../shared/errors.ts';
import { ParamsError } from '../../../shared/params-error.ts';
import { isSessionId } from '../../../shared/protocol/sessions.ts';
import { checkOf } from '../../../shared/schema-check.ts';
import { flag, integer, list, object, text } from '../../../shared/schema.ts';
import { outOfPlace, type ArrivingLog } from '../session/arriving-log.ts';
import type { Sessions } from '../session/sessions.ts';
import { faultOfLine } from './record-checks.ts';

/** Logs that arrive in pieces at the same time; the one that was begun first makes room. */
const arrivingMax = 4;

/** A piece of a log: its text from a byte on, and whether more follows. */
export interface LogPiece {
  readonly id: string;
  readonly text: string;
  readonly offset: number;
  readonly more: boolean;
}

const linesCheck = checkOf(object({ id: text(), lines: list(text()) }));
const pieceCheck = checkOf(
  object({ id: text(), text: text(), offset: integer(0, Number.MAX_SAFE_INTEGER), more: flag() }),
);

export function isLog(value: unknown): boolean {
  return typeof value === 'object' && value !== null && ('lines' in value || 'text' in value);
}

/** @throws ParamsError */
export function logPieceOf(value: unknown, place: string): LogPiece {
  const isWhole = 'lines' in (value as object);
  const fault = (isWhole ? linesCheck : pieceCheck)(value);
  if (fault !== undefined)
    throw new ParamsError(`${place}.${fault.field}`, `${place}.${fault.field} ${fault.message}`, fault.value);
  const { id, lines } = value as { id: string; lines: string[] };
  if (!isSessionId(id)) throw new ParamsError(`${place}.id`, 'id is no id of a session', id);
  if (!isWhole) return value as LogPiece;
  return { id, text: lines.map((line) => `${line}\n`).join(''), offset: 0, more: false };
}

export class ArrivingLogs {
  readonly #sessions: Sessions;
  readonly #arriving = new Map<string, ArrivingLog>();

  constructor(sessions: Sessions) {
    this.#sessions = sessions;
  }

  /** @throws AppError rejected, and nothing of the log stays; session-write-failed, store-full */
  async take({ id, text: piece, offset, more }: LogPiece): Promise<'known' | 'more' | 'imported'> {
    if (await this.#sessions.has(id)) {
      await this.#drop(id);
      return 'known';
    }
    const log = await this.#logOf(id, offset);
    try {
      await log.write(piece);
      if (more) return 'more';
      const fault = await log.fault((record) => faultOfLine(record, id));
      if (fault !== undefined) {
        const { line, field, message, value } = fault;
        throw new AppError('rejected', `line ${line} of the log of ${id}: ${field} ${message}`, {
          details: { field: `${id}.${line}${field === '' ? '' : `.${field}`}`, value },
        });
      }
      await log.finish();
      this.#arriving.delete(id);
      return 'imported';
    } catch (error) {
      await this.#drop(id);
      throw error;
    }
  }

  async #logOf(id: string, offset: number): Promise<ArrivingLog> {
    if (offset === 0) {
      await this.#drop(id);
      const [oldest] = this.#arriving.keys();
      if (oldest !== undefined && this.#arriving.size >= arrivingMax) await this.#drop(oldest);
      const log = await this.#sessions.arrive(id);
      this.#arriving.set(id, log);
      return log;
    }
    const log = this.#arriving.get(id);
    if (log === undefined || log.bytes !== offset) {
      await this.#drop(id);
      throw outOfPlace(id, offset, log?.bytes ?? 0);
    }
    return log;
  }

  async #drop(id: string): Promise<void> {
    const log = this.#arriving.get(id);
    this.#arriving.delete(id);
    await log?.drop();
  }
}

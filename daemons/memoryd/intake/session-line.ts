/** One line of a session log into its record; what cannot be read is told apart, never thrown. */
import { isUtf8 } from 'node:buffer';
import type { SessionRecord, SessionRecordType } from '../../../shared/protocol/sessions.ts';

export interface ReadLine {
  readonly record: SessionRecord;
  /** Where the record begins within the line: over 0 where something unreadable lay before it. */
  readonly start: number;
}

/** What each type must hold for this reader; a type that is not named here makes nothing findable. */
const textFields: Partial<Record<SessionRecordType, readonly string[]>> = {
  session: ['origin'],
  turn: ['text'],
  assistant: ['text'],
  result: ['call', 'status', 'text'],
};

/**
 * A crash can leave half a line, or a run of zeros, and the next writer's line glued behind it. The start of a record
 * cannot occur unescaped inside a string of another one, so a record that ends the line is found by its start.
 */
const recordStart = Buffer.from('{"v":');
const recordStartsTriedMax = 64;

/** @returns undefined where the line holds no whole record. */
export function readLine(bytes: Buffer): ReadLine | undefined {
  const whole = parse(bytes);
  if (whole !== undefined) return { record: whole, start: 0 };
  let start = bytes.lastIndexOf(recordStart);
  for (let tried = 0; start > 0 && tried < recordStartsTriedMax; tried += 1) {
    const record = parse(bytes.subarray(start));
    if (record !== undefined) return { record, start };
    start = bytes.lastIndexOf(recordStart, start - 1);
  }
  return undefined;
}

function parse(bytes: Buffer): SessionRecord | undefined {
  if (!isUtf8(bytes)) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
  return isRecord(value) ? value : undefined;
}

function isRecord(value: unknown): value is SessionRecord {
  if (typeof value !== 'object' || value === null) return false;
  const fields = value as Record<string, unknown>;
  const { seq, at, type } = fields;
  if (!Number.isSafeInteger(seq) || (seq as number) < 0 || typeof type !== 'string') return false;
  if (typeof at !== 'string' || Number.isNaN(Date.parse(at))) return false;
  const needed = Object.hasOwn(textFields, type) ? textFields[type as SessionRecordType] : undefined;
  return (needed ?? []).every((field) => typeof fields[field] === 'string');
}

/** One record of a session log as the bytes of a line, and back. */
import { AppError } from '../../../shared/errors.ts';
import {
  sessionRecordVersion,
  type SessionBody,
  type SessionRecord,
} from '../../../shared/protocol/sessions.ts';

/** The longest line that is written or read; a larger one in a log is damage. */
export const recordBytesMax = 32 * 1024 * 1024;

const escapedSurrogate = /\\ud[89a-f][0-9a-f]{2}/i;

/** @throws AppError message-too-large */
export function encodeRecord(
  body: SessionBody,
  { seq, at }: { seq: number; at: string },
): { line: Buffer; record: SessionRecord } {
  let record: SessionRecord = { v: sessionRecordVersion, seq, at, ...body };
  let json = JSON.stringify(record);
  // JSON.stringify writes a lone surrogate as an escape and nothing else so, but for a text that spells one out.
  if (escapedSurrogate.test(json)) {
    record = wellFormed(record) as SessionRecord;
    json = JSON.stringify(record);
  }
  const line = Buffer.from(`${json}\n`);
  if (line.length > recordBytesMax)
    throw new AppError('message-too-large', `a ${body.type} record of ${line.length} bytes`, {
      details: { bytes: line.length, limit: recordBytesMax },
    });
  return { line, record };
}

/** The record in a line without its newline, or what is wrong with it. */
export function decodeRecord(line: Buffer, expectedSeq: number): SessionRecord | { wrong: string } {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(line));
  } catch (error) {
    return { wrong: error instanceof SyntaxError ? 'not JSON' : 'not UTF-8' };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { wrong: 'not an object' };
  const { v, seq, at, type } = value as Record<string, unknown>;
  if (typeof v !== 'number' || typeof at !== 'string' || typeof type !== 'string')
    return { wrong: 'not a record: v, at or type is missing' };
  if (seq !== expectedSeq) return { wrong: `seq is ${String(seq)} where ${expectedSeq} belongs` };
  return value as SessionRecord;
}

function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (typeof value !== 'object' || value === null) return value;
  // fromEntries defines members, so that one named __proto__ stays a member.
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key.toWellFormed(), wellFormed(member)]),
  );
}

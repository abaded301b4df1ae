/** What a list shows of a session, read from the beginning and the end of its log, whatever its size. */
import { open, type FileHandle } from 'node:fs/promises';
import type { Origin, SessionRecord } from '../../../shared/protocol/sessions.ts';

export interface SessionSummary {
  readonly id: string;
  /** Absent until there is one; then `opening` is what to show. */
  readonly title?: string;
  /** The beginning of the first turn. */
  readonly opening?: string;
  readonly origin: Origin;
  readonly model: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly bytes: number;
}

/** A title is written after the first turn, so it stands near the beginning. */
const headBytes = 256 * 1024;
const tailBytes = 16 * 1024;
const firstLineBytesMax = 8 * 1024 * 1024;
const openingCharacters = 80;
const newline = 0x0a;

/** undefined where the log cannot be read as one: opening it says why. */
export async function readSummary(path: string): Promise<SessionSummary | undefined> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const head = await readHead(file, size);
    const first = head[0];
    if (first?.type !== 'session') return undefined;
    const tail = size > headBytes ? await readTail(file, size) : [];
    const records = [...head, ...tail];
    const title = records.findLast((record) => record.type === 'title')?.title ?? first.title;
    const opening = head.find((record) => record.type === 'turn')?.text;
    return {
      id: first.id,
      ...(title === undefined ? {} : { title }),
      ...(opening === undefined ? {} : { opening: cutText(opening) }),
      origin: first.origin,
      model: first.model,
      createdAt: first.at,
      updatedAt: records.at(-1)!.at,
      bytes: size,
    };
  } finally {
    await file.close();
  }
}

function cutText(text: string): string {
  const line = text.trim().replaceAll(/\s+/g, ' ');
  return line.length <= openingCharacters
    ? line
    : `${line.slice(0, openingCharacters - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

async function readHead(file: FileHandle, size: number): Promise<SessionRecord[]> {
  for (let wanted = headBytes; ; wanted = firstLineBytesMax) {
    const bytes = await readRange(file, 0, Math.min(wanted, size));
    if (bytes.includes(newline) || bytes.length === size) return parseLines(bytes, bytes.length === size);
    if (wanted === firstLineBytesMax) return [];
  }
}

async function readTail(file: FileHandle, size: number): Promise<SessionRecord[]> {
  for (let wanted = tailBytes; ; wanted = Math.min(wanted * 32, firstLineBytesMax)) {
    const bytes = await readRange(file, Math.max(0, size - wanted), size);
    const start = bytes.indexOf(newline) + 1;
    const records = parseLines(bytes.subarray(start), true);
    if (records.length > 0 || wanted >= Math.min(size, firstLineBytesMax)) return records;
  }
}

async function readRange(file: FileHandle, from: number, to: number): Promise<Buffer> {
  const buffer = Buffer.alloc(to - from);
  const { bytesRead } = await file.read(buffer, 0, buffer.length, from);
  return buffer.subarray(0, bytesRead);
}

/** Lines that are no records are passed over: a list is no place to find damage. */
function parseLines(bytes: Buffer, isWhole: boolean): SessionRecord[] {
  const lines = bytes.toString().split('\n');
  if (!isWhole) lines.pop();
  return lines.flatMap((line) => {
    try {
      return line === '' ? [] : [JSON.parse(line) as SessionRecord];
    } catch {
      return [];
    }
  });
}

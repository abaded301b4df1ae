/** Sessions whose last turn was broken off, found from the ends of their logs. */
import { open, readdir, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { isSessionId, sessionLogSuffix, type SessionRecord } from '../../../shared/protocol/sessions.ts';

/** Most logs end with a short record; a longer end is read only where that says nothing. */
const tailBytesFirst = 4 * 1024;
const tailBytesMax = 8 * 1024 * 1024;
const growth = 16;
const newline = 0x0a;

/** Ids, one log at a time; a log that cannot be read is passed over: whoever opens it is told why. */
export async function* unfinishedSessions(directory: string): AsyncGenerator<string> {
  for (const name of await readdir(directory)) {
    const id = name.slice(0, -sessionLogSuffix.length);
    if (!name.endsWith(sessionLogSuffix) || !isSessionId(id)) continue;
    if (await isUnfinished(join(directory, name)).catch(() => false)) yield id;
  }
}

async function isUnfinished(path: string): Promise<boolean> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    for (let bytes = tailBytesFirst; ; bytes *= growth) {
      const last = lastOfTurn(await readTail(file, size, Math.min(bytes, tailBytesMax)));
      if (last !== undefined) return last !== 'end' && last !== 'session';
      if (bytes >= Math.min(size, tailBytesMax)) return false;
    }
  } finally {
    await file.close();
  }
}

async function readTail(file: FileHandle, size: number, bytes: number): Promise<string[]> {
  const from = Math.max(0, size - bytes);
  const buffer = Buffer.alloc(size - from);
  const { bytesRead } = await file.read(buffer, 0, buffer.length, from);
  const read = buffer.subarray(0, bytesRead);
  const start = from === 0 ? 0 : read.indexOf(newline) + 1;
  return read.subarray(start).toString().split('\n');
}

/** A title may be written beside a turn, and a compaction within one: neither says whether it is over. */
function lastOfTurn(lines: readonly string[]): SessionRecord['type'] | undefined {
  for (const line of lines.toReversed()) {
    try {
      const { type } = JSON.parse(line) as SessionRecord;
      if (type !== 'title' && type !== 'compact') return type;
    } catch {
      // Not whole: opening the log cuts it off.
    }
  }
  return undefined;
}

/** Lines of a file as bytes, split on 0x0A and nowhere else, with bounded memory whatever the file's size. */
import type { FileHandle } from 'node:fs/promises';

const chunkBytes = 1024 * 1024;
const newline = 0x0a;

export interface ScannedLine {
  /** Without its newline; empty where `isTooLong`. */
  readonly bytes: Buffer;
  readonly offset: number;
  /** With its newline. */
  readonly length: number;
  readonly hasNewline: boolean;
  readonly isTooLong: boolean;
}

/** The lines of one read at a time, so that a large file costs one wait for each read and not for each line. */
export async function* scanLines(
  file: FileHandle,
  { from = 0, to, lineBytesMax }: { from?: number; to: number; lineBytesMax: number },
): AsyncGenerator<ScannedLine[]> {
  let pending: Buffer[] = [];
  let pendingLength = 0;
  let offset = from;
  const line = (hasNewline: boolean): ScannedLine => {
    const isTooLong = pendingLength > lineBytesMax;
    const bytes = isTooLong ? Buffer.alloc(0) : pending.length === 1 ? pending[0]! : Buffer.concat(pending);
    const length = pendingLength + (hasNewline ? 1 : 0);
    const scanned = { bytes, offset, length, hasNewline, isTooLong };
    offset += length;
    pending = [];
    pendingLength = 0;
    return scanned;
  };
  const add = (piece: Buffer) => {
    pendingLength += piece.length;
    if (pendingLength <= lineBytesMax) pending.push(piece);
    else pending = [];
  };

  for (let at = from; at < to;) {
    const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, to - at));
    const { bytesRead } = await file.read(chunk, 0, chunk.length, at);
    if (bytesRead === 0) break;
    at += bytesRead;
    const lines: ScannedLine[] = [];
    let start = 0;
    for (let end; (end = chunk.indexOf(newline, start)) >= 0 && end < bytesRead; start = end + 1) {
      add(chunk.subarray(start, end));
      lines.push(line(true));
    }
    if (start < bytesRead) add(chunk.subarray(start, bytesRead));
    if (lines.length > 0) yield lines;
  }
  if (pendingLength > 0) yield [line(false)];
}

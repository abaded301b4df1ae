/**
 * Reads the log format of LevelDB, in which its write-ahead logs and its MANIFEST are written.
 *
 * A file is a row of blocks of 32 KiB, a block a row of fragments:
 *
 *   checksum (4)  length (2)  type (1)  data (length)      type: 1 whole, 2 first, 3 middle, 4 last
 *
 * A block with fewer than 7 bytes left is filled with zeros. LevelDB itself passes over
 * whatever it cannot read here without a word.
 */
import { crc32c, unmaskCrc } from './crc32c.ts';

const blockBytes = 32_768;
const headerBytes = 7;
/** How far behind a bad fragment each byte is tried as the start of a good one; after that, each block. */
const searchBytesMax = 70_000;

const whole = 1;
const first = 2;
const last = 4;

export interface Defect {
  /** Offset of the first byte that cannot be read, and how many there are to the end. */
  readonly at: number;
  readonly bytes: number;
  readonly reason: string;
  /**
   * Something that can be read follows: this is no torn tail but damage. The other
   * kinds are how a file ends that was cut off while it grew.
   */
  readonly kind: 'middle' | 'tail';
  /** LevelDB takes a cut as the end of the file; on anything else in a MANIFEST it refuses to open. */
  readonly isCut: boolean;
}

export interface LogContent {
  readonly records: Buffer[];
  /** Nothing behind it was read. */
  readonly defect?: Defect;
}

interface Fragment {
  readonly type: number;
  readonly data: Buffer;
  readonly end: number;
}

export function readLog(bytes: Buffer): LogContent {
  const records: Buffer[] = [];
  let parts: Buffer[] | undefined;
  let at = 0;
  const failed = (reason: string, isCut = false): LogContent => ({
    records,
    defect: {
      at,
      bytes: bytes.length - at,
      reason,
      kind: isReadableAfter(bytes, at) ? 'middle' : 'tail',
      isCut,
    },
  });

  while (at < bytes.length) {
    const blockEnd = blockEndOf(at);
    if (blockEnd - at < headerBytes) {
      const end = Math.min(blockEnd, bytes.length);
      if (bytes.subarray(at, end).some((byte) => byte !== 0)) return failed('bytes between two blocks');
      at = end;
      continue;
    }
    const fragment = fragmentAt(bytes, at, blockEnd);
    if (typeof fragment === 'string') return failed(fragment, fragment === cutShort);
    const starts = fragment.type === whole || fragment.type === first;
    if (starts && parts !== undefined) return failed('a record inside a record');
    if (!starts && parts === undefined) return failed('a fragment without its start');
    parts = [...(parts ?? []), fragment.data];
    if (fragment.type === whole || fragment.type === last) {
      records.push(parts.length === 1 ? fragment.data : Buffer.concat(parts));
      parts = undefined;
    }
    at = fragment.end;
  }
  if (parts === undefined) return { records };
  const unfinished = parts.reduce((sum, part) => sum + part.length, 0);
  return {
    records,
    defect: { at, bytes: unfinished, reason: 'an unfinished record', kind: 'tail', isCut: true },
  };
}

const cutShort = 'cut short';

/** The fragment at an offset, or why there is none. */
function fragmentAt(bytes: Buffer, at: number, blockEnd: number): Fragment | string {
  if (at + headerBytes > bytes.length) return cutShort;
  const length = bytes.readUInt16LE(at + 4);
  const type = bytes[at + 6]!;
  const end = at + headerBytes + length;
  if (type === 0 && length === 0 && bytes.readUInt32LE(at) === 0) return 'zeros';
  if (end > blockEnd) return 'a length past the end of its block';
  if (end > bytes.length) return cutShort;
  if (type < whole || type > last) return `a fragment of type ${type}`;
  if (unmaskCrc(bytes.readUInt32LE(at)) !== crc32c(bytes, at + 6, end)) return 'a wrong checksum';
  return { type, data: bytes.subarray(at + headerBytes, end), end };
}

function isReadableAfter(bytes: Buffer, badAt: number): boolean {
  for (let at = badAt + 1; at < bytes.length; at += 1) {
    if (at > badAt + searchBytesMax) at = Math.ceil(at / blockBytes) * blockBytes;
    const blockEnd = blockEndOf(at);
    if (blockEnd - at < headerBytes) continue;
    // The type first: it spares the checksum for nearly every offset.
    const type = bytes[at + 6];
    if (type === undefined || type < whole || type > last) continue;
    if (typeof fragmentAt(bytes, at, blockEnd) !== 'string') return true;
  }
  return false;
}

function blockEndOf(at: number): number {
  return (Math.floor(at / blockBytes) + 1) * blockBytes;
}

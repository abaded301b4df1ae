/**
 * Checks one table file: every block's checksum, and that the blocks fill the file without a gap.
 *
 *   data block …  filter block  metaindex block  index block  footer (48)
 *
 * Each block is followed by its compression (1) and its checksum (4). The footer holds
 * where metaindex and index lie, and a magic number.
 */
import { setImmediate } from 'node:timers/promises';
import { ByteReader } from './byte-reader.ts';
import { crc32c, unmaskCrc } from './crc32c.ts';
import { unsnappy } from './snappy.ts';

const footerBytes = 48;
const trailerBytes = 5;
const magicLow = 0x8b80fb57;
const magicHigh = 0xdb477524;
const compressionSnappy = 1;
/** Blocks are checked for this many bytes before others get their turn: about a millisecond. */
const stepBytes = 256 * 1024;

interface Handle {
  readonly what: string;
  readonly at: number;
  readonly length: number;
}

/** @returns what is wrong with it; nothing where it is whole. */
export async function checkTable(file: Buffer, size: number): Promise<string[]> {
  if (file.length < size) return [`${file.length} bytes instead of ${size}`];
  const table = file.subarray(0, size);
  if (size < footerBytes || !hasMagic(table)) return ['no table: wrong magic number'];
  try {
    const { handles, gaps } = layoutOf(table);
    return [...gaps, ...(await damagedBlocks(table, handles))];
  } catch (error) {
    return [`index cannot be read: ${(error as Error).message}`];
  }
}

function hasMagic(table: Buffer): boolean {
  const { length } = table;
  return table.readUInt32LE(length - 8) === magicLow && table.readUInt32LE(length - 4) === magicHigh;
}

function layoutOf(table: Buffer): { handles: Handle[]; gaps: string[] } {
  const footerAt = table.length - footerBytes;
  const footer = new ByteReader(table, footerAt);
  const metaindex = { what: 'metaindex', at: footer.varint(), length: footer.varint() };
  const index = { what: 'index', at: footer.varint(), length: footer.varint() };
  const gaps: string[] = [];
  if (endOf(metaindex) !== index.at || endOf(index) !== footerAt) gaps.push('footer does not fit the file');

  let at = 0;
  const data = dataHandles(blockOf(table, index));
  for (const handle of data) {
    if (handle.at !== at) gaps.push(`gap before the block at ${handle.at}`);
    at = endOf(handle);
  }
  const filter: Handle[] =
    at < metaindex.at ? [{ what: 'filter', at, length: metaindex.at - at - trailerBytes }] : [];
  return { handles: [index, metaindex, ...data, ...filter], gaps };
}

/** The index block maps keys to where the data blocks lie; its keys do not matter here. */
function dataHandles(index: Buffer): Handle[] {
  const restarts = index.readUInt32LE(index.length - 4);
  const end = index.length - 4 - 4 * restarts;
  const reader = new ByteReader(index);
  const handles: Handle[] = [];
  while (reader.at < end) {
    reader.varint(); // Bytes of the key shared with the one before.
    const keyBytes = reader.varint();
    const valueBytes = reader.varint();
    reader.bytes(keyBytes);
    const value = new ByteReader(reader.bytes(valueBytes));
    handles.push({ what: 'data', at: value.varint(), length: value.varint() });
  }
  return handles;
}

function blockOf(table: Buffer, { at, length }: Handle): Buffer {
  const block = table.subarray(at, at + length);
  return table[at + length] === compressionSnappy ? unsnappy(block) : block;
}

async function damagedBlocks(table: Buffer, handles: readonly Handle[]): Promise<string[]> {
  const damaged: string[] = [];
  let stepped = 0;
  for (const { what, at, length } of handles) {
    if (length < 0 || at + length + trailerBytes > table.length) {
      damaged.push(`${what} block at ${at} is outside the file`);
    } else if (unmaskCrc(table.readUInt32LE(at + length + 1)) !== crc32c(table, at, at + length + 1)) {
      damaged.push(`${what} block at ${at} has a wrong checksum`);
    }
    stepped += Math.max(length, 0);
    if (stepped < stepBytes) continue;
    stepped = 0;
    await setImmediate();
  }
  return damaged;
}

function endOf({ at, length }: Handle): number {
  return at + length + trailerBytes;
}

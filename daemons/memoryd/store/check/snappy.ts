/** Snappy decompression, for the index blocks of tables. */
import { ByteReader } from './byte-reader.ts';

const bytesMax = 64 * 1024 * 1024;

/** @throws RangeError where the bytes are no Snappy block. */
export function unsnappy(bytes: Buffer): Buffer {
  const reader = new ByteReader(bytes);
  const length = reader.varint();
  if (length > bytesMax) throw new RangeError(`block of ${length} bytes`);
  const out = Buffer.alloc(length);
  let filled = 0;
  while (!reader.isDone) {
    const tag = reader.bytes(1)[0]!;
    if ((tag & 3) === 0) {
      const literal = reader.bytes(literalLength(reader, tag));
      if (filled + literal.length > length) throw new RangeError('literal past the end of the block');
      literal.copy(out, filled);
      filled += literal.length;
      continue;
    }
    const copy = copyOf(reader, tag);
    if (copy.offset === 0 || copy.offset > filled || filled + copy.length > length) {
      throw new RangeError('copy from outside the block');
    }
    // Byte by byte: a copy may reach into what it writes, to repeat it.
    for (let i = 0; i < copy.length; i += 1, filled += 1) out[filled] = out[filled - copy.offset]!;
  }
  if (filled !== length) throw new RangeError(`block of ${filled} bytes instead of ${length}`);
  return out;
}

function literalLength(reader: ByteReader, tag: number): number {
  const short = tag >> 2;
  if (short < 60) return short + 1;
  const width = short - 59;
  return reader.bytes(width).readUIntLE(0, width) + 1;
}

function copyOf(reader: ByteReader, tag: number): { length: number; offset: number } {
  switch (tag & 3) {
    case 1:
      return { length: ((tag >> 2) & 7) + 4, offset: ((tag >> 5) << 8) | reader.bytes(1)[0]! };
    case 2:
      return { length: (tag >> 2) + 1, offset: reader.bytes(2).readUInt16LE(0) };
    default:
      return { length: (tag >> 2) + 1, offset: reader.bytes(4).readUInt32LE(0) };
  }
}

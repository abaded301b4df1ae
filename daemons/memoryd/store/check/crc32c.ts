/** CRC-32C (Castagnoli), the checksum of LevelDB's blocks and log records; zlib's crc32 is another polynomial. */

const polynomial = 0x82f63b78;
const maskDelta = 0xa282ead8;

/** Eight tables, so that eight bytes go in one step. */
const tables = tablesOf();

function tablesOf(): readonly Int32Array[] {
  const made = Array.from({ length: 8 }, () => new Int32Array(256));
  const [first] = made as [Int32Array];
  for (let byte = 0; byte < 256; byte += 1) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ polynomial : crc >>> 1;
    first[byte] = crc;
  }
  for (let table = 1; table < 8; table += 1) {
    const before = made[table - 1]!;
    for (let byte = 0; byte < 256; byte += 1) {
      made[table]![byte] = first[before[byte]! & 255]! ^ (before[byte]! >>> 8);
    }
  }
  return made;
}

export function crc32c(bytes: Uint8Array, start = 0, end = bytes.length): number {
  const [t0, t1, t2, t3, t4, t5, t6, t7] = tables as [
    Int32Array,
    Int32Array,
    Int32Array,
    Int32Array,
    Int32Array,
    Int32Array,
    Int32Array,
    Int32Array,
  ];
  let crc = ~0;
  let at = start;
  for (; at + 8 <= end; at += 8) {
    const low = crc ^ (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24));
    crc =
      t7[low & 255]! ^
      t6[(low >>> 8) & 255]! ^
      t5[(low >>> 16) & 255]! ^
      t4[low >>> 24]! ^
      t3[bytes[at + 4]!]! ^
      t2[bytes[at + 5]!]! ^
      t1[bytes[at + 6]!]! ^
      t0[bytes[at + 7]!]!;
  }
  for (; at < end; at += 1) crc = t0[(crc ^ bytes[at]!) & 255]! ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** LevelDB stores checksums masked, because a checksum of data that holds checksums is weak. */
export function unmaskCrc(masked: number): number {
  const rotated = (masked - maskDelta) >>> 0;
  return ((rotated >>> 17) | (rotated << 15)) >>> 0;
}

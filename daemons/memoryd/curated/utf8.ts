/** Where bytes stop being UTF-8, because Node's decoder says only that they do. */
import { isUtf8 } from 'node:buffer';

/** Bytes that follow the first one, by its value, and what the second of them may be. */
function sequenceAt(lead: number): { length: number; low: number; high: number } | undefined {
  if (lead < 0x80) return { length: 1, low: 0, high: 0 };
  if (lead < 0xc2 || lead > 0xf4) return undefined;
  if (lead < 0xe0) return { length: 2, low: 0x80, high: 0xbf };
  if (lead < 0xf0) return { length: 3, low: lead === 0xe0 ? 0xa0 : 0x80, high: lead === 0xed ? 0x9f : 0xbf };
  return { length: 4, low: lead === 0xf0 ? 0x90 : 0x80, high: lead === 0xf4 ? 0x8f : 0xbf };
}

/** The offset of the first byte of the first sequence that is not UTF-8; undefined when all of it is. */
export function invalidUtf8At(bytes: Uint8Array): number | undefined {
  if (isUtf8(bytes)) return undefined;
  let at = 0;
  while (at < bytes.length) {
    const sequence = sequenceAt(bytes[at] ?? 0);
    if (!sequence) return at;
    for (let next = 1; next < sequence.length; next += 1) {
      const byte = bytes[at + next] ?? 0;
      const [low, high] = next === 1 ? [sequence.low, sequence.high] : [0x80, 0xbf];
      if (byte < low || byte > high) return at;
    }
    at += sequence.length;
  }
  return undefined;
}

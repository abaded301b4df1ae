/** Short digests by which bytes are known again: kept for each session, so every character counts. */
import { createHash } from 'node:crypto';

/** 96 bits of a sha256: no accident makes two alike, and nobody gains by making it so. */
const lengthKept = 16;

export function digestOf(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('base64url').slice(0, lengthKept);
}

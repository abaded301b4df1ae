/** What a store says of itself: its format, and the highest sequence number that was given out. */
import type { Operation, Reader } from './engine.ts';
import { seal, unseal } from './envelope.ts';

/** Raised when older programs must not open the store any more; an old one then answers `store-newer`. */
export const storeFormat = 1;

/** Keys below it are the store's own. */
export const metaPrefix = 'meta/';
const formatKey = `${metaPrefix}format`;
const sequenceKey = `${metaPrefix}seq`;

/** Written in every batch, so that no number is used again whatever happens. */
export function sequenceOperation(seq: number): Operation<string> {
  return { type: 'put', key: sequenceKey, value: seal(sequenceKey, { seq, json: 'null' }) };
}

export function firstOperations(): Operation<string>[] {
  const json = JSON.stringify({ format: storeFormat });
  return [{ type: 'put', key: formatKey, value: seal(formatKey, { seq: 0, json }) }, sequenceOperation(0)];
}

/** @returns a text where the store cannot say. */
export function readMeta(reader: Reader<string>): { format: number; seq: number } | string {
  const format = contentOf(reader, formatKey);
  const sequence = contentOf(reader, sequenceKey);
  if (format === undefined) return `${formatKey} is missing or damaged`;
  if (sequence === undefined) return `${sequenceKey} is missing or damaged`;
  return { format: formatOf(format.json) ?? Number.NaN, seq: sequence.seq };
}

export function markerText(): string {
  return `${JSON.stringify({ format: storeFormat })}\n`;
}

/** Of a marker or of the store; undefined where the text says no format. */
export function formatOf(text: string): number | undefined {
  try {
    const { format } = JSON.parse(text) as { format?: unknown };
    return typeof format === 'number' ? format : undefined;
  } catch {
    return undefined;
  }
}

function contentOf(reader: Reader<string>, key: string) {
  const value = reader.get(key);
  return value === undefined ? undefined : unseal(key, value);
}

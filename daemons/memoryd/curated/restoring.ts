/** A curated file out of an export, brought in beside what is there: pure. */
import { AppError } from '../../../shared/errors.ts';
import { acceptEntry } from './entry-rule.ts';
import { parse, render, sizeOf, type ParsedFile } from './file-format.ts';

interface Restored {
  readonly bytes: Buffer;
  readonly entries: readonly string[];
}

interface Place {
  /** Undefined where there is no file. */
  readonly current: ParsedFile | undefined;
  readonly limit: number;
  /** Entries that the history knows: they come back as they were, whatever they hold. */
  readonly known: readonly string[];
}

/**
 * Where nothing stands the file comes back whole; elsewhere what is missing of it is added.
 * @returns undefined when all of it is there
 * @throws AppError memory-refused, memory-full
 */
export function restoredFrom(text: string, { current, limit, known }: Place): Restored | undefined {
  const imported = parse(Buffer.from(text, 'utf8'));
  const here = new Set([...(current?.entries ?? []), ...known]);
  for (const [index, entry] of imported.entries.entries())
    if (!here.has(entry)) acceptEntry(entry, { index });
  if (!current || (current.entries.length === 0 && current.preamble === ''))
    return current && text.trim() === ''
      ? undefined
      : { bytes: Buffer.from(text, 'utf8'), entries: imported.entries };
  const missing = imported.entries.filter((entry) => !current.entries.includes(entry));
  if (missing.length === 0) return undefined;
  const entries = [...current.entries, ...missing];
  const [used, need] = [sizeOf(current.entries), sizeOf(entries)];
  if (need > limit) {
    throw new AppError(
      'memory-full',
      `the entries of the export and those that are here take ${need} of ${limit} characters`,
      {
        details: { used, limit, need: need - used, entries: current.entries },
      },
    );
  }
  return { bytes: render(current, entries), entries };
}

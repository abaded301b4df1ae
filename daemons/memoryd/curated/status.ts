/** What the operator is told of a curated file. */
import { toAppError } from '../../../shared/errors.ts';
import { versionOf } from './actions.ts';
import type { CuratedFile } from './curated-file.ts';
import { breachOf, describeBreach, type Breach } from './entry-rule.ts';
import { sizeOf } from './file-format.ts';

export interface FileStatus {
  readonly used: number;
  readonly limit: number;
  readonly entries: number;
  /** `ok`, `over-limit`, `breaches`, `no-entries` (text, but no entry), or the code of the error. */
  readonly state: string;
  readonly path: string;
  readonly version?: string;
  /** Entries that a hand put there against the rule: kept, shown harmless in the block, and named here. */
  readonly breaches?: readonly (Breach & { entry: number; message: string })[];
  readonly pending?: number;
  readonly message?: string;
  [detail: string]: unknown;
}

/** A status names no more of them. */
const breachesMax = 20;

export async function statusOf(file: CuratedFile, pending: number): Promise<FileStatus> {
  const { path, limit } = file;
  const waiting = pending === 0 ? {} : { pending };
  try {
    const { entries, preamble } = await file.read();
    const used = sizeOf(entries);
    const breaches = entries.flatMap((text, entry) => {
      const breach = breachOf(text);
      return breach ? [{ entry, message: describeBreach(breach), ...breach }] : [];
    });
    return {
      used,
      limit,
      entries: entries.length,
      path,
      version: versionOf(entries),
      ...stateOf({
        used,
        limit,
        breaches: breaches.length,
        hasOnlyText: preamble !== '' && entries.length === 0,
      }),
      ...(breaches.length === 0 ? {} : { breaches: breaches.slice(0, breachesMax) }),
      ...waiting,
    };
  } catch (error) {
    const { code, message, details } = toAppError(error);
    return { used: 0, limit, entries: 0, path, ...waiting, ...details, state: code, message };
  }
}

function stateOf({
  used,
  limit,
  breaches,
  hasOnlyText,
}: {
  used: number;
  limit: number;
  breaches: number;
  hasOnlyText: boolean;
}): { state: string; message?: string } {
  if (breaches > 0)
    return { state: 'breaches', message: `entries that hold what an entry may not hold: ${breaches}` };
  if (used > limit) return { state: 'over-limit', message: `${used - limit} characters over the limit` };
  if (hasOnlyText) {
    return {
      state: 'no-entries',
      message: 'it holds text, but no item that begins with "- ": nothing of it is in the block',
    };
  }
  return { state: 'ok' };
}

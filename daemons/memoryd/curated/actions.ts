/** What each action does to a list of entries: pure, and nothing is done when any part of it is refused. */
import { createHash } from 'node:crypto';
import { AppError } from '../../../shared/errors.ts';
import { ParamsError } from '../../../shared/params-error.ts';
import { findSecrets } from '../../../shared/secrets.ts';
import { diffEntries, sameEntries, type Changed } from './entry-diff.ts';
import { acceptEntry, normalizeEntry, showHarmless } from './entry-rule.ts';
import { renderEntry, sizeOf } from './file-format.ts';
import type { Operation } from './memory-params.ts';
import { nearestTo } from './similarity.ts';

/** What the file held before a change, and who had made that change. */
interface Earlier {
  readonly entries: readonly string[];
  readonly by: string;
}

interface Situation {
  readonly entries: readonly string[];
  readonly limit: number;
  /** What the file held before its last change, before the one before that, and so on: where `undo` goes. */
  readonly earlier: readonly Earlier[];
  /** A person may write down a credential; a model may not. */
  readonly maySayCredentials: boolean;
}

export interface Outcome {
  readonly entries: readonly string[];
  readonly changed: readonly Changed[];
  readonly note?: string;
  /** How many changes of the history were taken back. */
  readonly undone: number;
}

/** sha256 over the entries as a JSON array: the same for the same entries, however the file is written. */
export function versionOf(entries: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(entries)).digest('hex');
}

/** @throws AppError memory-no-match, memory-ambiguous, memory-refused, memory-changed, memory-full. */
export function act(before: Situation, operations: readonly Operation[], isBatch: boolean): Outcome {
  const run: Run = { before, entries: [...before.entries], states: [], changed: [], notes: [], undone: 0 };
  for (const operation of operations) step(run, operation);
  const isUndo = !isBatch && operations[0]?.action === 'undo';
  const mayEmpty = !isBatch && operations[0]?.action !== 'consolidate';
  if (!mayEmpty && run.entries.length === 0 && before.entries.length > 0) {
    throw new AppError(
      'memory-refused',
      'this would leave the file without any entry: remove them one by one if so meant',
      {
        details: { reason: 'empties' },
      },
    );
  }
  // What was there once may come back, also above a limit that was lowered since.
  if (!isUndo) checkSize(before, run.entries);
  const changed = isBatch ? diffEntries(before.entries, run.entries) : run.changed;
  checkReplaced(before, run.entries, isBatch ? [] : operations);
  const note = run.notes.join(' ');
  return { entries: run.entries, changed, undone: run.undone, ...(note === '' ? {} : { note }) };
}

interface Run {
  readonly before: Situation;
  entries: string[];
  /** The entries before each operation of this batch that changed any. */
  readonly states: string[][];
  changed: Changed[];
  readonly notes: string[];
  undone: number;
}

function step(run: Run, operation: Operation): void {
  const entries = [...run.entries];
  switch (operation.action) {
    case 'view':
      return;
    case 'add':
      add(run, operation.text);
      break;
    case 'replace':
      replace(run, operation.old, operation.text);
      break;
    case 'remove':
      remove(run, operation.old);
      break;
    case 'consolidate':
      consolidate(run, operation.entries, operation.expect);
      break;
    case 'undo':
      undo(run);
      return;
  }
  if (!sameEntries(entries, run.entries)) run.states.push(entries);
}

function add(run: Run, given: string): void {
  const text = acceptText(run, given);
  if (run.entries.includes(text)) {
    run.notes.push('Nothing changed: this is an entry already.');
    return;
  }
  run.entries.push(text);
  run.changed.push({ before: null, after: text });
}

function replace(run: Run, old: string, given: string): void {
  const text = acceptText(run, given);
  const at = find(run.entries, old);
  const before = run.entries[at] ?? '';
  if (before === text) {
    run.notes.push('Nothing changed: the entry says this already.');
    return;
  }
  if (run.entries.includes(text)) run.notes.push('Another entry says the same.');
  run.entries[at] = text;
  if (run.entries.includes(before)) run.notes.push('The old text is still in another entry, word for word.');
  run.changed.push({ before, after: text });
}

/** Entries that are the same word for word are one entry written twice, and go together. */
function remove(run: Run, old: string): void {
  const before = run.entries[find(run.entries, old)] ?? '';
  for (const entry of run.entries) if (entry === before) run.changed.push({ before, after: null });
  run.entries = run.entries.filter((entry) => entry !== before);
}

function consolidate(run: Run, given: readonly string[], expect: string): void {
  const seen = expect.trim().toLowerCase();
  if (seen !== versionOf(run.before.entries) && seen !== versionOf(run.entries)) {
    throw new AppError(
      'memory-changed',
      'the file has changed since that version: start again from these entries',
      {
        details: {
          version: versionOf(run.before.entries),
          entries: run.before.entries,
          ...sizes(run.before),
        },
      },
    );
  }
  // So many entries cannot fit, whatever they say: nobody looks at each of them.
  if (given.length - 1 > Math.max(run.before.limit, sizeOf(run.before.entries))) checkSize(run.before, given);
  const entries = given.map((text, index) => acceptText(run, text, { index }));
  run.changed.push(...diffEntries(run.entries, entries));
  if (sameEntries(run.entries, entries)) run.notes.push('Nothing changed: these are the entries already.');
  run.entries = entries;
}

/** In a batch it takes back what the batch did first, then what the history holds. */
function undo(run: Run): void {
  const state = run.states.pop();
  const earlier = state ? undefined : run.before.earlier[run.undone++];
  const target = state ?? earlier?.entries;
  if (target === undefined) {
    run.undone = run.before.earlier.length;
    run.notes.push('Nothing changed: there is no change left to take back.');
    return;
  }
  if (earlier?.by === 'hand') run.notes.push('This took back an edit that the person made by hand.');
  run.changed.push(...diffEntries(run.entries, target));
  run.entries = [...target];
}

function acceptText(run: Run, given: string, where: Record<string, unknown> = {}): string {
  const text = acceptEntry(given, where);
  // What the person wrote by hand may be carried on.
  if (run.before.maySayCredentials || run.before.entries.includes(text)) return text;
  const [secret] = findSecrets(text);
  if (secret) {
    throw new AppError(
      'memory-refused',
      `refused text: it holds what looks like a credential (${secret.kind})`,
      {
        details: { reason: 'credential', kind: secret.kind, ...where },
      },
    );
  }
  return text;
}

/** The entry that is meant: equal before containing, as it is before as the block shows it. */
function find(entries: readonly string[], old: string): number {
  const wanted = normalizeEntry(old);
  if (wanted === '') throw new ParamsError('old', 'old is empty: give a part of the entry', old);
  const shown = entries.map((entry) => renderEntry(showHarmless(entry)));
  for (const texts of [entries, shown]) {
    for (const isMeant of [(text: string) => text === wanted, (text: string) => text.includes(wanted)]) {
      const found = entries.filter((_, at) => isMeant(texts[at] ?? ''));
      const different = [...new Set(found)];
      if (different.length > 1) {
        throw new AppError(
          'memory-ambiguous',
          `the old text is in ${different.length} entries: give more of the one you mean`,
          {
            details: { entries: different },
          },
        );
      }
      if (different[0] !== undefined) return entries.indexOf(different[0]);
    }
  }
  throw new AppError('memory-no-match', 'the old text is in no entry', {
    details: { nearest: nearestTo(wanted, entries) },
  });
}

function checkSize(before: Situation, entries: readonly string[]): void {
  const [had, has] = [sizeOf(before.entries), sizeOf(entries)];
  if (has <= before.limit || has <= had) return;
  const free = Math.max(0, before.limit - had);
  throw new AppError(
    'memory-full',
    `${has - had} more characters are needed and ${free} of ${before.limit} are free: shorten, merge or remove entries first`,
    { details: { ...sizes(before), need: has - had, entries: before.entries } },
  );
}

function sizes({ entries, limit }: Situation): { used: number; limit: number } {
  return { used: sizeOf(entries), limit };
}

/** A replace that touched more than its own entry is a bug, and is not stored. */
function checkReplaced(
  before: Situation,
  entries: readonly string[],
  operations: readonly Operation[],
): void {
  if (operations[0]?.action !== 'replace') return;
  const touched = entries.filter((entry, at) => entry !== before.entries[at]).length;
  if (entries.length !== before.entries.length || touched > 1)
    throw new AppError('internal', `a replace touched ${touched} entries of ${entries.length}`);
}

/** The params of `memory` as they come, with the names that small models use, read into what is to be done. */
import { ParamsError } from '../../../shared/params-error.ts';
import { memoryActions, type MemoryParams } from '../../../shared/protocol/memoryd.ts';
import { curatedFiles, type CuratedFile } from '../../../shared/protocol/replies.ts';

export type Operation =
  | { readonly action: 'view' | 'undo' }
  | { readonly action: 'add'; readonly text: string }
  | { readonly action: 'replace'; readonly old: string; readonly text: string }
  | { readonly action: 'remove'; readonly old: string }
  | { readonly action: 'consolidate'; readonly entries: readonly string[]; readonly expect: string };

export interface Origin {
  readonly session?: string;
  readonly turn?: number;
}

export interface MemoryRequest {
  readonly file: CuratedFile;
  readonly operations: readonly Operation[];
  /** The operations came as a list: all or nothing. */
  readonly isBatch: boolean;
  readonly reason?: string;
  readonly origin?: Origin;
}

type Change = NonNullable<MemoryParams['operations']>[number];
type Named = Omit<Change, 'action'> & { action?: Change['action'] };

/** What each action takes besides `file`, as the refusals list it. */
const accepted: Readonly<Record<(typeof memoryActions)[number], string>> = {
  view: 'view takes file',
  add: 'add takes file and text (also content, new_text)',
  replace: 'replace takes file, old (also old_text, old_string, target) and text (also content, new_text)',
  remove: 'remove takes file and old (also old_text, old_string, target, text)',
  consolidate: 'consolidate takes file, entries and expect (the version last seen)',
  undo: 'undo takes file',
};

/** @throws ParamsError naming the field, with the names that are accepted. */
export function readMemoryParams(params: MemoryParams): MemoryRequest {
  const file = fileOf(params);
  const isBatch = params.operations !== undefined;
  if (isBatch && params.action !== undefined)
    throw new ParamsError('operations', 'give action or operations, not both', params.action);
  const operations = params.operations
    ? params.operations.map((change, at) => operationOf(change, file, `operations[${at}].`))
    : [operationOf(params, file, '')];
  return {
    file,
    operations,
    isBatch,
    ...(params.reason ? { reason: params.reason } : {}),
    ...(params.origin && Object.keys(params.origin).length > 0 ? { origin: params.origin } : {}),
  };
}

/** A file by its name, with or without `.md`, in any case. */
function fileNamed(name: string | undefined): CuratedFile | undefined {
  const bare = name?.trim().toLowerCase().replace(/\.md$/, '');
  return curatedFiles.find((file) => file === bare);
}

/** All operations are about one file, which may be named once or in each; `target` names it where `file` does not. */
function fileOf(params: MemoryParams): CuratedFile {
  const changes = [params, ...(params.operations ?? [])];
  const unknown = changes.find(({ file }) => file && !fileNamed(file));
  if (unknown) throw new ParamsError('file', 'file must be "memory" or "user"', unknown.file);
  const filesOf = (names: (string | undefined)[]) =>
    new Set(names.flatMap((name) => fileNamed(name || undefined) ?? []));
  const named = filesOf(changes.map(({ file }) => file));
  const [first, ...others] = named.size > 0 ? named : filesOf(changes.map(({ target }) => target));
  if (first === undefined) throw new ParamsError('file', 'file is missing: "memory" or "user"');
  if (others.length > 0) throw new ParamsError('file', 'operations change one file at a time', others[0]);
  return first;
}

function operationOf(change: Named, file: CuratedFile, at: string): Operation {
  const { action } = change;
  if (action === undefined) {
    const names = `action is missing: one of ${memoryActions.join(', ')}, or operations`;
    throw new ParamsError(`${at}action`, names);
  }
  const text = oneValue(change, ['text', 'content', 'new_text'], at);
  const old = oneValue(change, ['old', 'old_text', 'old_string'], at) ?? targetOf(change, file);
  const missing = (field: string) =>
    new ParamsError(`${at}${field}`, `${field} is missing: ${accepted[action]}`);
  switch (action) {
    case 'view':
    case 'undo':
      return { action };
    case 'add':
      if (old !== undefined)
        throw new ParamsError(
          `${at}old`,
          `add changes no other entry; use replace: ${accepted.replace}`,
          old,
        );
      if (text === undefined) throw missing('text');
      return { action, text };
    case 'replace':
      if (old === undefined) throw missing('old');
      if (text === undefined) throw missing('text');
      return { action, old, text };
    case 'remove': {
      const wanted = old ?? text;
      if (wanted === undefined) throw missing('old');
      return { action, old: wanted };
    }
    case 'consolidate':
      if (change.entries === undefined) throw missing('entries');
      if (!change.expect) throw missing('expect');
      return { action, entries: change.entries, expect: change.expect };
  }
}

/**
 * The one value that several names may carry. Small models fill what they do not use with empty strings, so an empty
 * one counts only where there is no other.
 */
function oneValue(
  change: Named,
  names: readonly ('text' | 'content' | 'new_text' | 'old' | 'old_text' | 'old_string')[],
  at: string,
): string | undefined {
  const given = names.flatMap((name) => (change[name] === undefined ? [] : [change[name]]));
  const values = [...new Set(given.filter((value) => value !== ''))];
  if (values.length > 1)
    throw new ParamsError(`${at}${names[0]}`, `${names.join(', ')} are one field and differ`, values[1]);
  // An old text of nothing would be in every entry; an entry of nothing is refused by the rule for entries.
  return values[0] ?? (names[0] === 'text' ? given[0] : undefined);
}

/** `target` names the file where it can, otherwise the entry that is meant. */
function targetOf({ target }: Named, file: CuratedFile): string | undefined {
  return target && fileNamed(target) !== file ? target : undefined;
}

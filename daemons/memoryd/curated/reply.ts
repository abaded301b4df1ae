/** What the tool `memory` answers. */
import type { CuratedFile as FileName, MemoryReply } from '../../../shared/protocol/replies.ts';
import { versionOf, type Outcome } from './actions.ts';
import { sizeOf } from './file-format.ts';

interface Limited {
  readonly name: FileName;
  readonly limit: number;
}

export function replyOf(file: Limited, { entries, changed, note }: Outcome): MemoryReply {
  const { used, limit } = usageOf(file, entries);
  const over = used > limit ? `The file is ${used - limit} characters over its limit: shorten it.` : '';
  const notes = [note ?? '', over].filter((part) => part !== '').join(' ');
  return {
    file: file.name,
    version: versionOf(entries),
    entries: [...entries],
    used,
    limit,
    changed: changed.map(({ before, after }) => ({ before, after })),
    ...(notes === '' ? {} : { note: notes }),
  };
}

export function usageOf({ limit }: Limited, entries: readonly string[]): { used: number; limit: number } {
  return { used: sizeOf(entries), limit };
}

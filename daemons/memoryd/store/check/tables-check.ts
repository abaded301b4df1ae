/** Checks the tables of a store block by block: before it opens after a crash, else beside its work. */
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { checkTable } from './table.ts';

/** More of them say nothing new about what is to be done. */
const reasonsMax = 100;

export interface TablesCheck {
  readonly tables: readonly { path: string; size: number }[];
  /** A table may have gone because an open store compacted it. */
  readonly isOpen: boolean;
  readonly signal?: AbortSignal;
  /** Called after each table. */
  readonly onChecked?: () => void;
}

/** @returns what is wrong with them; nothing where all are whole. */
export async function checkTables({ tables, isOpen, signal, onChecked }: TablesCheck): Promise<string[]> {
  const reasons: string[] = [];
  for (const { path, size } of tables) {
    if (signal?.aborted === true || reasons.length >= reasonsMax) break;
    let found: string[];
    try {
      found = await checkTable(await readFile(path), size);
    } catch (error) {
      const isGone = (error as NodeJS.ErrnoException).code === 'ENOENT';
      found = isGone && isOpen ? [] : [(error as Error).message];
    }
    reasons.push(...found.map((reason) => `${basename(path)}: ${reason}`));
    onChecked?.();
  }
  return reasons;
}

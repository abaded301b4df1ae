/** How far each run was read, as it is kept in the index: the last episode, and each summary by its number. */
import { rangeOf } from '../plane/keys.ts';
import type { IndexPort } from './index-port.ts';

export interface EpisodesProgress {
  readonly seq: number;
}

export interface SummaryProgress {
  readonly seq: number;
  /** The number of the text before, while that may still be in the index. */
  readonly replaces?: number;
}

/** The same texts as the store's keys begin with: a run's progress lies together. */
export function episodesKey(run: string): string {
  return rangeOf('episode', run).gte;
}

export function episodesProgress(index: IndexPort, run: string): EpisodesProgress | undefined {
  return read(index.progress(episodesKey(run))) as EpisodesProgress | undefined;
}

/** `key` is the summary's own in the store. */
export function summaryProgress(index: IndexPort, key: string): SummaryProgress | undefined {
  return read(index.progress(key)) as SummaryProgress | undefined;
}

export async function progressKeysOfRun(index: IndexPort, run: string): Promise<readonly string[]> {
  return [episodesKey(run), ...(await index.progressKeys(rangeOf('summary', run).gte))];
}

function read(value: string | undefined): unknown {
  return value === undefined || value === '' ? undefined : JSON.parse(value);
}

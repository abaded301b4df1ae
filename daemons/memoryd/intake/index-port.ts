/** The part of the recall index that intake stands on. */
import type { RecallParams } from '../../../shared/protocol/memoryd.ts';
import type { RecallReply } from '../../../shared/protocol/replies.ts';
import type { Container, Item, SessionFacts, Texts } from '../recall/item.ts';

/** A mark of the feeder, stored in the same batch as what it speaks of. An empty value is no mark. */
export interface Progress {
  readonly key: string;
  readonly value: string;
}

export type IndexState = RecallReply['index']['state'];

export interface RecallContext {
  readonly state: IndexState;
  readonly behind: number;
  readonly forgotten: number;
}

export interface IndexPort {
  /** `damaged` once it met something that it never wrote; it goes on answering from what remains. */
  readonly state: 'ok' | 'damaged';
  /** Atomic: the items, and how far their source was read. */
  append(facts: SessionFacts, items: readonly Item[], progress?: Progress): Promise<void>;
  progress(key: string): string | undefined;
  progressKeys(prefix: string): Promise<readonly string[]> | readonly string[];
  recall(params: RecallParams, context: RecallContext): Promise<RecallReply>;
  /** Gone when this returns, from the disk too. */
  forget(container: Container): Promise<unknown>;
  /** Gone from answers when this returns, from the disk after `settle`. */
  forgetRecords(container: Container, records: readonly number[]): Promise<unknown>;
  settle(): Promise<void>;
  /** `turns`: how many things in it can be found. */
  status(): Readonly<Record<string, unknown>>;
  /** The same for two indexes that hold the same, however each came to it. */
  fingerprint(): Promise<string>;
  close(): Promise<void>;
}

export type OpenIndex = (at: { readonly dir: string; readonly texts: Texts }) => Promise<IndexPort>;

/** What is given to the recall index, and how it reads texts back: it stores none itself. */
import type { RecallRole, RecallSource } from '../../../shared/protocol/replies.ts';

/** A session log, or a run of the record plane. */
export interface Container {
  readonly kind: 'session' | 'run';
  readonly id: string;
}

export interface SessionFacts extends Container {
  readonly origin: 'person' | 'schedule' | 'agent' | 'run';
  readonly startedMs: number;
}

export interface Item {
  readonly source: RecallSource;
  /** `seq` in the session log, or in the record plane. */
  readonly record: number;
  readonly turn?: number;
  readonly atMs: number;
  readonly role: RecallRole;
  /** Who spoke, where a channel has several people. */
  readonly name?: string;
  readonly ref?: string;
  readonly text: string;
  /** Where the text can be read again; opaque here, kept small. `<number>:<number>` takes the least room. */
  readonly locator: string;
}

export interface Wanted {
  readonly record: number;
  readonly locator: string;
}

export interface Texts {
  /** Items in the order wanted, whole; undefined where one is gone. */
  read(container: Container, wanted: readonly Wanted[]): Promise<(Item | undefined)[]>;
}

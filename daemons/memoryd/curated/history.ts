/**
 * The history of a curated file in the record store: one record a change, never rewritten but for forgetting.
 *
 *   mh/<file>/<seq>   what changed, why, from where, and the entries afterwards
 *   mc/<file>         the newest change known to be in the file: what a crash may have cut off is behind it
 */
import type { CuratedFile, MemoryChange } from '../../../shared/protocol/replies.ts';
import type { Role } from '../../../shared/protocol/method.ts';
import type { RecordEntry } from '../store/record-reader.ts';
import type { RecordOperation, RecordStore } from '../store/record-store.ts';
import { versionOf } from './actions.ts';
import { applyChanges, sameEntries, type Changed } from './entry-diff.ts';
import type { Origin } from './memory-params.ts';

/** The part of the record store that the curated memory stands on. */
export type CuratedStore = Pick<RecordStore, 'get' | 'range' | 'nextSequence' | 'commit'>;

export interface Change {
  readonly v: 1;
  readonly seq: number;
  readonly file: CuratedFile;
  readonly at: string;
  readonly action: string;
  readonly by: 'hand' | Role;
  readonly changed: readonly Changed[];
  /** The whole file afterwards. */
  readonly entries: readonly string[];
  /** The version of the entries that it was made on. */
  readonly base: string;
  readonly reason?: string;
  readonly origin?: Origin;
  /** For an undo: the change that it took back; the next undo goes on before it. */
  readonly took_back?: number;
}

/** What the file held before a change, and which change that was. */
interface EarlierState {
  readonly seq: number;
  readonly by: Change['by'];
  readonly entries: readonly string[];
}

/** How the first record of a file is called that people had filled before: where undo ends. */
export const foundAction = 'found';
const seqDigits = 20;
/** The end of a range of keys that begin with `<prefix>/`: the byte after the slash. */
const afterSlash = '0';

export class History {
  readonly #store: CuratedStore;
  readonly #file: CuratedFile;

  constructor(store: CuratedStore, file: CuratedFile) {
    this.#store = store;
    this.#file = file;
  }

  /** A change with its own place in the order, not stored yet. */
  change(fields: Omit<Change, 'v' | 'seq' | 'file' | 'base'> & { before: readonly string[] }): Change {
    const { before, ...rest } = fields;
    return { v: 1, seq: this.#store.nextSequence(), file: this.#file, base: versionOf(before), ...rest };
  }

  put(change: Change): RecordOperation {
    return { type: 'put', key: this.#keyOf(change.seq), json: JSON.stringify(change), seq: change.seq };
  }

  takeBack({ seq }: Change): RecordOperation {
    return { type: 'del', key: this.#keyOf(seq) };
  }

  confirm(seq: number): RecordOperation {
    return { type: 'put', key: `mc/${this.#file}`, json: JSON.stringify({ seq }) };
  }

  /** The newest change that can be read. */
  async newest(): Promise<Change | undefined> {
    for await (const change of this.walk({ reverse: true })) if (change !== undefined) return change;
    return undefined;
  }

  /** The newest change known to be in the file; 0 when none is. */
  confirmed(): number {
    const mark = this.#store.get(`mc/${this.#file}`);
    return mark ? (JSON.parse(mark.json) as { seq: number }).seq : 0;
  }

  /**
   * Where `count` undos lead, the nearest first.
   * @param pending a change that is made but not stored yet: the last one, then
   */
  async earlier(count: number, pending?: Change): Promise<EarlierState[]> {
    const found: EarlierState[] = [];
    let skipFrom = Number.POSITIVE_INFINITY;
    let candidate = pending;
    let state = pending?.entries;
    for await (const change of this.walk({ reverse: true })) {
      // One that cannot be read is taken back by its own neighbour's word on what it was made on.
      if (candidate) {
        const entries = change?.entries ?? applyChanges(candidate.entries, inverted(candidate.changed));
        if (!state || !sameEntries(entries, state))
          found.push({ seq: candidate.seq, by: candidate.by, entries });
        if (found.length >= count) return found;
        state = entries;
      }
      candidate = undefined;
      if (!change) continue;
      state ??= change.entries;
      if (change.seq >= skipFrom) continue;
      if (change.action === foundAction) return found;
      if (change.took_back === undefined) candidate = change;
      else skipFrom = change.took_back;
    }
    if (candidate && candidate.entries.length > 0)
      found.push({ seq: candidate.seq, by: candidate.by, entries: [] });
    return found;
  }

  /** Every change in the order of the range; undefined in the place of one that is damaged. */
  async *walk(range: { reverse?: boolean; before?: number } = {}): AsyncGenerator<Change | undefined> {
    for await (const entry of this.#entries(range)) yield 'damaged' in entry ? undefined : changeOf(entry);
  }

  /** One page of the changes, the newest first. */
  async page(limit: number, before: number | undefined): Promise<{ changes: MemoryChange[]; next?: string }> {
    const changes: MemoryChange[] = [];
    let last = 0;
    for await (const entry of this.#entries({ reverse: true, ...(before === undefined ? {} : { before }) })) {
      if (changes.length === limit) return { changes, next: String(last) };
      last = Number(entry.key.slice(-seqDigits));
      changes.push('damaged' in entry ? damagedChange(this.#file, last) : shown(changeOf(entry)));
    }
    return { changes };
  }

  async *#entries({
    reverse = false,
    before,
  }: {
    reverse?: boolean;
    before?: number;
  }): AsyncGenerator<RecordEntry> {
    const range = {
      gte: `mh/${this.#file}/`,
      lt: before === undefined ? `mh/${this.#file}${afterSlash}` : this.#keyOf(before),
      reverse,
    };
    for await (const page of this.#store.range(range)) yield* page;
  }

  #keyOf(seq: number): string {
    return `mh/${this.#file}/${String(seq).padStart(seqDigits, '0')}`;
  }
}

function changeOf({ json }: { json: string }): Change {
  return JSON.parse(json) as Change;
}

function shown({ seq, at, file, action, changed, reason, origin, by }: Change): MemoryChange {
  return {
    seq,
    at,
    file,
    action,
    changed: [...changed],
    by,
    ...(reason === undefined ? {} : { reason }),
    ...(origin === undefined ? {} : { origin }),
  };
}

/** Its place in the order is known, and nothing else. */
function damagedChange(file: CuratedFile, seq: number): MemoryChange {
  return { seq, at: '', file, action: 'damaged', changed: [], by: 'hand' };
}

function inverted(changed: readonly Changed[]): Changed[] {
  return changed.map(({ before, after }) => ({ before: after, after: before }));
}

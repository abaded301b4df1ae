/** Where each entry comes from, as the history of its file tells it. */
import type { MemoryShow } from '../../../shared/protocol/replies.ts';
import type { Change } from './history.ts';
import type { Origin } from './memory-params.ts';
import { nearDuplicates } from './similarity.ts';

type Shown = MemoryShow['entries'][number];

interface Source {
  readonly created: string;
  readonly changed?: string;
  readonly by: Change['by'];
  readonly origin?: Origin;
}

/** Of so many entries that went it is remembered where they came from, in case an undo brings them back. */
const goneMax = 1000;

/** Follows the changes of one file in their order. */
export class Provenance {
  readonly #sources = new Map<string, Source>();
  readonly #gone = new Map<string, Source>();

  follow({ at, by, action, origin, changed }: Change): void {
    const from = { by, ...(origin === undefined ? {} : { origin }) };
    for (const { before, after } of changed) {
      const source = before === null ? undefined : this.#sources.get(before);
      if (before !== null && source) this.#drop(before, source);
      if (after === null) continue;
      const returned = action === 'undo' ? this.#gone.get(after) : undefined;
      const created = source?.created;
      this.#sources.set(
        after,
        returned ?? (created === undefined ? { ...from, created: at } : { ...from, created, changed: at }),
      );
    }
  }

  sourceOf(entry: string): Source | undefined {
    return this.#sources.get(entry);
  }

  #drop(entry: string, source: Source): void {
    this.#sources.delete(entry);
    this.#gone.delete(entry);
    this.#gone.set(entry, source);
    if (this.#gone.size <= goneMax) return;
    const [oldest] = this.#gone.keys();
    if (oldest !== undefined) this.#gone.delete(oldest);
  }

  /** The entries with what is known of each: one without a source was typed and not seen before. */
  show(entries: readonly string[]): Shown[] {
    const near = nearDuplicates(entries);
    return entries.map((text, at) => {
      const nearTo = near[at];
      return { text, ...this.#sources.get(text), ...(nearTo === undefined ? {} : { near: nearTo }) };
    });
  }
}

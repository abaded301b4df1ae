/** A recall index for tests of what feeds it: one file, words as they stand, and faults on demand. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RecallParams } from '../../../../shared/protocol/memoryd.ts';
import type { Hit, RecallReply } from '../../../../shared/protocol/replies.ts';
import { IndexDamage } from '../../recall/index/damage.ts';
import { OtherFormat } from '../../recall/index/format.ts';
import type { Container, Item, SessionFacts, Texts, Wanted } from '../../recall/item.ts';
import type { IndexPort, OpenIndex, Progress, RecallContext } from '../index-port.ts';

interface Kept {
  facts: SessionFacts;
  items: (Wanted & { words: string })[];
}

interface State {
  containers: Record<string, Kept>;
  progress: Record<string, string>;
}

export class FileIndex implements IndexPort {
  readonly #path: string;
  readonly #texts: Texts;
  readonly #state: State;
  #isClosed = false;
  /** What every call throws that touches the index. */
  fault: Error | undefined;
  state: 'ok' | 'damaged' = 'ok';
  /** Called before each append; a test can hold it up, or kill there. */
  onAppend: (facts: SessionFacts, items: readonly Item[]) => Promise<void> = () => Promise.resolve();
  appends = 0;
  settled = 0;

  /** @throws IndexDamage where the file is not what an index wrote */
  constructor({ dir, texts }: Parameters<OpenIndex>[0]) {
    mkdirSync(dir, { recursive: true });
    this.#path = join(dir, 'index.json');
    this.#texts = texts;
    this.#state = existsSync(this.#path) ? parse(this.#path) : { containers: {}, progress: {} };
  }

  async append(facts: SessionFacts, items: readonly Item[], progress?: Progress): Promise<void> {
    this.#touch();
    this.appends += 1;
    await this.onAppend(facts, items);
    if (items.length > 0) {
      const kept = (this.#state.containers[name(facts)] ??= { facts, items: [] });
      for (const { record, locator, text } of items)
        kept.items.push({ record, locator, words: text.toLowerCase() });
    }
    if (progress?.value === '') delete this.#state.progress[progress.key];
    else if (progress !== undefined) this.#state.progress[progress.key] = progress.value;
    this.#save();
  }

  progress(key: string): string | undefined {
    return this.#state.progress[key];
  }

  progressKeys(prefix: string): string[] {
    return Object.keys(this.#state.progress).filter((key) => key.startsWith(prefix));
  }

  async recall({ query, limit = 8 }: RecallParams, context: RecallContext): Promise<RecallReply> {
    this.#touch(false);
    const words = query.toLowerCase().split(/\s+/);
    const hits: Hit[] = [];
    for (const { facts, items } of Object.values(this.#state.containers)) {
      const found = items.filter((item) => words.every((word) => item.words.includes(word)));
      for (const item of await this.#texts.read(facts, found))
        if (item !== undefined) hits.push(hitOf(facts, item));
    }
    const { state, behind, forgotten } = context;
    return { hits: hits.slice(0, limit), tier: 'words', filters: {}, index: { state, behind }, forgotten };
  }

  async forget(container: Container): Promise<void> {
    this.#touch();
    delete this.#state.containers[name(container)];
    this.#save();
  }

  async forgetRecords(container: Container, records: readonly number[]): Promise<void> {
    this.#touch();
    const kept = this.#state.containers[name(container)];
    if (kept !== undefined) kept.items = kept.items.filter(({ record }) => !records.includes(record));
    this.#save();
  }

  status(): Record<string, unknown> {
    return { turns: Object.values(this.#state.containers).reduce((sum, { items }) => sum + items.length, 0) };
  }

  async settle(): Promise<void> {
    this.settled += 1;
  }

  async fingerprint(): Promise<string> {
    const containers = Object.values(this.#state.containers).filter(({ items }) => items.length > 0);
    return containers
      .flatMap(({ facts, items }) => items.map((item) => `${name(facts)} ${JSON.stringify(item)}`))
      .toSorted()
      .join('\n');
  }

  async close(): Promise<void> {
    if (this.#isClosed) throw new Error('closed twice');
    this.#isClosed = true;
  }

  /** Like the real one, it answers from what remains. */
  #touch(isWrite = true): void {
    if (this.#isClosed) throw new Error('used after it was closed');
    if (isWrite && this.fault !== undefined) throw this.fault;
  }

  #save(): void {
    writeFileSync(this.#path, JSON.stringify(this.#state));
  }
}

const name = ({ kind, id }: Container) => `${kind} ${id}`;

function parse(path: string): State {
  try {
    const state = JSON.parse(readFileSync(path, 'utf8')) as State & { format?: number };
    if (state.format === undefined) return state;
  } catch {
    throw new IndexDamage('the index is damaged');
  }
  throw new OtherFormat('the index is of another format');
}

function hitOf({ kind, id }: Container, item: Item): Hit {
  const { source, record, role, text, name, ref, atMs } = item;
  return {
    source,
    ...(kind === 'session' ? { session: id } : { run: id }),
    record,
    at: new Date(atMs).toISOString(),
    role,
    ...(name === undefined ? {} : { name }),
    ...(ref === undefined ? {} : { ref }),
    score: 1,
    text,
    before: [],
    after: [],
  };
}

/** The recall index of a device: takes items in, answers queries, forgets. It is derived from logs and records, and rebuilt from them when in doubt. */
import { mkdir } from 'node:fs/promises';
import { assetPath } from '../../../shared/assets.ts';
import type { Log } from '../../../shared/log.ts';
import type { RecallParams } from '../../../shared/protocol/memoryd.ts';
import type { RecallReply } from '../../../shared/protocol/replies.ts';
import type { Engine } from '../store/engine.ts';
import { openLevel } from '../store/level-engine.ts';
import { WordVectors } from './analysis/word-vectors.ts';
import { append, type Progress } from './index/append.ts';
import { fingerprint } from './index/fingerprint.ts';
import { forgetRecords, forgetSession } from './index/forget.ts';
import { format } from './index/format.ts';
import { keys, progressOfKey, ranges, wholeRange } from './index/keys.ts';
import { blockTurns, sealedTurns } from './index/manifest.ts';
import { TurnIndex } from './index/turn-index.ts';
import { compact, hasForgotten, upkeep } from './index/upkeep.ts';
import type { Container, Item, SessionFacts, Texts } from './item.ts';
import { ReadBack } from './query/read-back.ts';
import { Recall, type Circumstances } from './query/recall.ts';

const wordsFile = 'config/recall/words.bin';
/** An append waits for upkeep while more turns than this are in no block: they are held in memory. */
const unsealedTurnsMax = 8 * blockTurns;
/** Replaced records leave the disk so long after the last of them, in one go. */
const purgeDelayMs = 30_000;

export interface RecallIndexOptions {
  readonly dir: string;
  readonly texts: Texts;
  readonly nowMs: () => number;
  /** IANA name of the zone in which this device has its days; empty: the zone of the system. */
  readonly timeZone: string;
  readonly log?: Log;
  readonly vectors?: WordVectors;
  /** Told once when the index turns out to be damaged while it is used; it goes on answering from what remains. */
  readonly onDamage?: (error: unknown) => void;
}

export class RecallIndex {
  readonly #index: TurnIndex;
  readonly #options: RecallIndexOptions;
  readonly #readBack: ReadBack;
  readonly #recall: Recall;
  /** Writers one after the other. */
  #writing: Promise<unknown> = Promise.resolve();
  #upkeep: Promise<void> | undefined;
  #purge: NodeJS.Timeout | undefined;
  /** Something that was forgotten, or merged into something else, still lies in the engine's files. */
  #mustCompact = false;
  #isClosing = false;
  #damage: unknown;

  /** @throws IndexDamage, or what the engine throws: then there is nothing here to answer with. */
  static async open(options: RecallIndexOptions): Promise<RecallIndex> {
    const vectors = options.vectors ?? (await WordVectors.load(assetPath(wordsFile)));
    await mkdir(options.dir, { recursive: true, mode: 0o700 });
    const engine = await openLevel({ dir: options.dir, createIfMissing: true, encoding: 'binary' });
    try {
      return new RecallIndex(options, await TurnIndex.open(engine, vectors), vectors);
    } catch (error) {
      await engine.close();
      throw error;
    }
  }

  /** In memory or wherever else the engine is; for tests and benches. */
  static async over(
    engine: Engine<Uint8Array>,
    options: Omit<RecallIndexOptions, 'dir'>,
  ): Promise<RecallIndex> {
    const vectors = options.vectors ?? (await WordVectors.load(assetPath(wordsFile)));
    return new RecallIndex({ ...options, dir: '' }, await TurnIndex.open(engine, vectors), vectors);
  }

  private constructor(options: RecallIndexOptions, index: TurnIndex, vectors: WordVectors) {
    const { texts, nowMs, timeZone } = options;
    this.#options = options;
    this.#index = index;
    this.#readBack = new ReadBack(index, texts);
    this.#recall = new Recall({ index, vectors, readBack: this.#readBack, nowMs, timeZone });
    this.#mustCompact = hasForgotten(index);
    this.#startUpkeep();
  }

  /** `damaged` once something could not be read; the caller then rebuilds. */
  get state(): 'ok' | 'damaged' {
    return this.#damage === undefined ? 'ok' : 'damaged';
  }

  /** Atomic: the items that are not there yet, and the caller's progress. An empty value is no progress. */
  async append(facts: SessionFacts, items: readonly Item[], progress?: Progress): Promise<void> {
    await this.#exclusive(() => append(this.#index, { facts, items, progress }));
    if (this.#unsealed >= blockTurns) this.#startUpkeep();
    if (this.#unsealed >= unsealedTurnsMax) await this.#upkeep;
  }

  progress(key: string): string | undefined {
    const value = this.#index.engine.get(keys.progress(key));
    return value === undefined ? undefined : Buffer.from(value).toString('utf8');
  }

  async progressKeys(prefix: string): Promise<string[]> {
    const found: string[] = [];
    for await (const page of this.#index.engine.range(ranges.progress(prefix))) {
      found.push(...page.map(([key]) => progressOfKey(key)));
    }
    return found;
  }

  async recall(params: RecallParams, circumstances: Circumstances): Promise<RecallReply> {
    const state = this.state === 'damaged' ? 'damaged' : circumstances.state;
    const reply = await this.#recall.answer(params, { ...circumstances, state }, (error) =>
      this.#damaged(error),
    );
    if (this.state === 'damaged') reply.index.state = 'damaged';
    return reply;
  }

  /** Gone from answers at once, and from the disk when this returns. @returns how many records there were. */
  async forget(container: Container): Promise<number> {
    const records = await this.#exclusive(() => forgetSession(this.#index, container));
    if (records === 0) return records;
    this.#forgotten();
    await this.settle();
    return records;
  }

  /** Gone from answers when this returns, from the disk a while later, or with `settle`. @returns how many there were. */
  async forgetRecords(container: Container, records: readonly number[]): Promise<number> {
    const found = await this.#exclusive(() => forgetRecords(this.#index, container, records));
    if (found === 0) return found;
    this.#forgotten();
    this.#purge ??= setTimeout(() => this.#startUpkeep(), purgeDelayMs);
    this.#purge.unref();
    return found;
  }

  #forgotten(): void {
    this.#readBack.forgetAll();
    this.#mustCompact = true;
  }

  /** Everything that upkeep has to do is done when this returns. */
  async settle(): Promise<void> {
    await this.#upkeep;
    this.#startUpkeep();
    await this.#upkeep;
  }

  status(): Record<string, unknown> {
    const { columns, sessions, manifest, names, tail } = this.#index;
    return {
      state: this.state,
      format: `${format.layout}.${format.analysis}`,
      turns: columns.live,
      forgotten_turns: columns.count - columns.live,
      sessions: sessions.count,
      speakers: names.count,
      segments: manifest.segments.length,
      unsealed: columns.count - tail.first,
    };
  }

  /** Bytes on disk, about. */
  async size(): Promise<number> {
    return this.#index.engine.size(wholeRange);
  }

  /** The same for two indexes that hold the same, however each came to it. */
  fingerprint(): Promise<string> {
    return this.#exclusive(() => fingerprint(this.#index));
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    clearTimeout(this.#purge);
    await this.#upkeep;
    await this.#writing.catch(() => {});
    await this.#recall.idle();
    await this.#index.engine.close();
  }

  get #unsealed(): number {
    return this.#index.columns.count - sealedTurns(this.#index.manifest);
  }

  #exclusive<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#writing.then(work, work);
    this.#writing = done.catch(() => {});
    return done;
  }

  #startUpkeep(): void {
    clearTimeout(this.#purge);
    this.#purge = undefined;
    if (this.#upkeep !== undefined || this.#isClosing || this.#damage !== undefined) return;
    this.#upkeep = this.#runUpkeep().finally(() => {
      this.#upkeep = undefined;
    });
  }

  async #runUpkeep(): Promise<void> {
    try {
      const exclusive = <T>(work: () => Promise<T>) => this.#exclusive(work);
      while (!this.#isClosing) {
        const upkept = await upkeep(this.#index, exclusive);
        if (upkept === 'rewrote') this.#mustCompact = true;
        if (upkept !== 'nothing') continue;
        if (!this.#mustCompact) return;
        this.#mustCompact = false;
        await compact(this.#index);
      }
    } catch (error) {
      this.#damaged(error);
    }
  }

  #damaged(error: unknown): void {
    if (this.#damage !== undefined) return;
    this.#damage = error;
    this.#options.log?.error({ err: error, code: 'memory-index-damaged' }, 'the recall index is damaged');
    this.#options.onDamage?.(error);
  }
}

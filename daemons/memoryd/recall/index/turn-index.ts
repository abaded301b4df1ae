/** The turns of all sessions as the engine holds them: opened, appended to, and read by term. What a batch says is on disk is also in memory, and nothing else. */
import type { WordVectors } from '../analysis/word-vectors.ts';
import type { Engine, Operation } from '../../store/engine.ts';
import { Columns, mark, none, readAttributes, type Turn } from './columns.ts';
import { IndexDamage } from './damage.ts';
import { keys, numberOfKey, ranges, segmentOfKey, type KeyRange } from './keys.ts';
import { blockTurns, emptyManifest, readManifest, sealedTurns, type Manifest } from './manifest.ts';
import { pageTurns, readPage, type Place } from './places.ts';
import { PostingList, readPostings } from './postings.ts';
import { Participants } from './participants.ts';
import { readSession, Sessions } from './sessions.ts';
import { SpeakerNames } from './speaker-names.ts';
import { readTailTurn, Tail, type TailTurn } from './tail.ts';
import { readWords, Vocabulary } from './vocabulary.ts';
import { Meanings } from './meanings.ts';
import { checkFormat } from './format.ts';

type IndexEngine = Engine<Uint8Array>;
export type IndexOperation = Operation<Uint8Array>;

const placePagesMax = 512;
const deletesMax = 1_000;

export class TurnIndex {
  readonly engine: IndexEngine;
  readonly columns = new Columns();
  readonly sessions = new Sessions();
  readonly names = new SpeakerNames();
  readonly participants = new Participants();
  readonly meanings: Meanings;
  manifest: Manifest = emptyManifest;
  tail = new Tail(0);
  #vocabulary: Promise<Vocabulary> | undefined;
  #loadedVocabulary: Vocabulary | undefined;
  readonly #placePages = new Map<number, (Place | undefined)[]>();

  /** @throws IndexDamage, or what the engine throws: either way the index cannot be used. */
  static async open(engine: IndexEngine, vectors: WordVectors): Promise<TurnIndex> {
    const index = new TurnIndex(engine, vectors);
    await checkFormat(engine);
    const manifest = engine.get(keys.meta('manifest'));
    if (manifest !== undefined) index.manifest = readManifest(manifest);
    await index.#loadSessions();
    await index.#loadBlocks();
    await index.#loadTail();
    await index.#dropOrphans();
    return index;
  }

  private constructor(engine: IndexEngine, vectors: WordVectors) {
    this.engine = engine;
    this.meanings = new Meanings(vectors);
  }

  /** Puts a turn that the disk holds into memory. */
  add(turn: Turn): number {
    const isDead = (turn.flags & mark.dead) !== 0;
    const session = this.sessions.at(turn.session);
    const number = this.columns.add(turn, session.last);
    if (isDead) return number;
    this.sessions.counted(session, { number, length: turn.length });
    this.participants.add(turn.speaker, turn.session);
    return number;
  }

  /** Likewise, a turn that is in no block yet. */
  addToTail(turn: TailTurn): number {
    const number = this.add(turn);
    this.tail.add(turn);
    this.meanings.add(turn.meaning);
    if (this.#loadedVocabulary !== undefined) {
      for (const term of turn.terms.keys()) this.#loadedVocabulary.add(term, 1);
    }
    return number;
  }

  /** Takes turns out of memory; the caller takes them off the disk. */
  kill(turns: readonly number[]): void {
    const { columns } = this;
    for (const turn of turns) {
      if (columns.isDead(turn)) continue;
      const before = columns.before[turn]!;
      const session = this.sessions.at(columns.session[turn]!);
      this.sessions.uncounted(session, { number: turn, length: columns.length[turn]!, before });
      columns.kill(turn);
      this.meanings.kill(turn);
    }
  }

  /** The live turns of a session, oldest first. */
  turnsOf({ last }: { last: number }): number[] {
    const turns: number[] = [];
    for (let turn = last; turn !== none; turn = this.columns.before[turn]!) turns.push(turn);
    return turns.toReversed();
  }

  /** @returns undefined for a dead turn. */
  placeOf(turn: number): Place | undefined {
    if (this.columns.isDead(turn)) return undefined;
    if (turn >= this.tail.first) return this.tail.placeOf(turn);
    const page = Math.floor(turn / pageTurns);
    let places = this.#placePages.get(page);
    if (places === undefined) {
      const value = this.engine.get(keys.page(page));
      if (value === undefined) throw new IndexDamage('a page of places is gone');
      places = readPage(value, this.pageSessions(page));
      const oldest = this.#placePages.keys().next();
      if (this.#placePages.size >= placePagesMax && !oldest.done) this.#placePages.delete(oldest.value);
      this.#placePages.set(page, places);
    }
    const place = places[turn % pageTurns];
    if (place === undefined) throw new IndexDamage('a live turn has no place');
    return place;
  }

  pageSessions(page: number): number[] {
    const first = page * pageTurns;
    return [...this.columns.session.subarray(first, first + pageTurns)];
  }

  deadIn({ first, end }: { first: number; end: number }): number {
    let dead = 0;
    for (let turn = first; turn < end; turn += 1) if (this.columns.isDead(turn)) dead += 1;
    return dead;
  }

  vocabulary(): Promise<Vocabulary> {
    this.#vocabulary ??= this.#loadVocabulary();
    return this.#vocabulary;
  }

  /**
   * Postings by term. Without a pause, so nothing is sealed or merged in between; the values are few and small, and a
   * hop to the thread pool and back would cost more than reading them.
   * @param damaged told of each list that cannot be read; what remains is answered with.
   */
  postings(terms: readonly string[], damaged: (error: unknown) => void): Map<string, PostingList> {
    const lists = new Map<string, PostingList>();
    for (const term of terms) {
      const list = new PostingList();
      for (const segment of this.manifest.segments) {
        try {
          const value = this.engine.get(keys.postings(segment.id, term));
          if (value !== undefined) readPostings(value, segment, list);
        } catch (error) {
          damaged(error);
        }
      }
      list.addAll(this.tail.postingsOf(term));
      lists.set(term, list);
    }
    return lists;
  }

  async dropRange(range: KeyRange): Promise<void> {
    for await (const page of this.engine.range(range)) {
      for (let at = 0; at < page.length; at += deletesMax) {
        const deletes = page.slice(at, at + deletesMax).map(([key]) => ({ type: 'del' as const, key }));
        await this.engine.write(deletes, { sync: false });
      }
    }
  }

  async #loadSessions(): Promise<void> {
    for await (const page of this.engine.range(ranges.sessions)) {
      for (const [key, value] of page) {
        const facts = readSession(value);
        const gone = { kind: 'session', id: '', origin: 'person', startedMs: 0 } as const;
        const { number } = this.sessions.add(facts ?? gone, facts === undefined);
        if (number !== numberOfKey(key)) throw new IndexDamage('a session is missing');
      }
    }
    for await (const page of this.engine.range(ranges.names)) {
      for (const [key, value] of page) this.names.load(numberOfKey(key), value);
    }
  }

  async #loadBlocks(): Promise<void> {
    let block = 0;
    for await (const page of this.engine.range(ranges.attributes)) {
      for (const [key, value] of page) {
        if (numberOfKey(key) !== block) throw new IndexDamage('a block of turns is missing');
        readAttributes(value, (turn) => this.add(turn));
        block += 1;
        if (this.columns.count !== block * blockTurns) throw new IndexDamage('a block of turns is not whole');
      }
    }
    if (this.columns.count !== sealedTurns(this.manifest)) {
      throw new IndexDamage('the blocks and the segments hold different turns');
    }
    await this.#loadMeanings(block);
  }

  async #loadMeanings(blocks: number): Promise<void> {
    let block = 0;
    for await (const page of this.engine.range(ranges.meanings)) {
      for (const [key, value] of page) {
        if (numberOfKey(key) !== block) throw new IndexDamage('a block of vectors is missing');
        this.meanings.addBlock(value, blockTurns);
        block += 1;
      }
    }
    if (block !== blocks) throw new IndexDamage('there are more or fewer blocks of vectors than of turns');
  }

  async #loadTail(): Promise<void> {
    this.tail = new Tail(this.columns.count);
    for await (const page of this.engine.range(ranges.turns)) {
      for (const [key, value] of page) {
        if (numberOfKey(key) !== this.columns.count) throw new IndexDamage('a turn is missing');
        this.addToTail(readTailTurn(value));
      }
    }
  }

  /** A kill while a segment was written or dropped leaves keys that no manifest counts. */
  async #dropOrphans(): Promise<void> {
    const live = new Set(this.manifest.segments.map(({ id }) => id));
    let from = ranges.allPostings.gte;
    for (;;) {
      const segment = await this.#firstSegment(from);
      if (segment === undefined) return;
      if (!live.has(segment)) await this.dropRange(ranges.postings(segment));
      from = ranges.postings(segment).lt;
    }
  }

  async #firstSegment(from: string): Promise<number | undefined> {
    for await (const [entry] of this.engine.range({ gte: from, lt: ranges.allPostings.lt, limit: 1 })) {
      return entry === undefined ? undefined : segmentOfKey(entry[0]);
    }
    return undefined;
  }

  async #loadVocabulary(): Promise<Vocabulary> {
    for (;;) {
      const { manifest } = this;
      const vocabulary = new Vocabulary();
      const values = await this.engine.getMany(manifest.segments.map(({ id }) => keys.words(id)));
      // What was sealed meanwhile is in neither the values nor the tail: then once more.
      if (manifest !== this.manifest) continue;
      for (const value of values) {
        if (value !== undefined) readWords(value, (term, count) => vocabulary.add(term, count));
      }
      for (const [term, list] of this.tail.terms) vocabulary.add(term, list.length);
      this.#loadedVocabulary = vocabulary;
      return vocabulary;
    }
  }
}

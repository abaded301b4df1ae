/** Answers one recall: what is asked, how it was found, and whatever the reader has to know about the answer. */
import type { RecallParams } from '../../../../shared/protocol/memoryd.ts';
import type { RecallReply } from '../../../../shared/protocol/replies.ts';
import { mark } from '../index/columns.ts';
import { RecordHeads } from '../index/record-heads.ts';
import { Best, type Scored } from '../ranking/best.ts';
import { namedSpeakers } from '../ranking/speakers.ts';
import { cursorOf, offsetMax, pageOf, type Page } from './cursor.ts';
import { filterOf, type Filter } from './filter.ts';
import { holdsPhrases, holdsWritten } from './phrase.ts';
import { queryCharsMax, questionOf, type Question } from './question.ts';
import { orderOf, Search, termsMax, type Equipment } from './search.ts';
import { show, type Shown } from './show.ts';
import { timeWindowOf } from './time-window.ts';

const defaults = { limit: 8, window: 1, charsMax: 6_000 };
/** Texts read in one go, and at most, to find those that hold a phrase. */
const verifiedAtOnce = 64;
const verifiedMax = 1_024;
/** Records looked at beyond the wanted hits, because some may be where they cannot be read. */
const spareRecords = 200;

export interface Circumstances {
  readonly forgotten: number;
  readonly behind: number;
  readonly state: 'ok' | 'catching-up' | 'damaged';
}

/**
 * How the answer was found: the quoted phrase, or every word as written; every word in some form; some words, their
 * neighbours or spellings near them; no word at all, but by time.
 */
export const recallTiers = ['exact', 'words', 'loose', 'time'] as const;
type Tier = (typeof recallTiers)[number];

interface Answer {
  readonly turns: readonly Scored[];
  readonly tier: Tier;
  readonly terms: ReadonlyMap<string, number>;
  /** Records whose text would decide, and cannot be read. */
  readonly unread: number;
  readonly notes: readonly string[];
}

export class Recall {
  readonly #equipment: Equipment;
  readonly #search: Search;

  /** Answers under way. */
  readonly #answering = new Set<Promise<unknown>>();

  constructor(equipment: Equipment) {
    this.#equipment = equipment;
    this.#search = new Search(equipment);
  }

  /** Returns when nobody reads the index any more: it must not be closed before. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#answering);
  }

  async answer(
    params: RecallParams,
    circumstances: Circumstances,
    damaged: (error: unknown) => void,
  ): Promise<RecallReply> {
    const answer = this.#answer(params, circumstances, damaged);
    this.#answering.add(answer);
    try {
      return await answer;
    } finally {
      this.#answering.delete(answer);
    }
  }

  /** @param damaged told when the index turns out to be damaged while it is read. */
  async #answer(
    params: RecallParams,
    { forgotten, behind, state }: Circumstances,
    damaged: (error: unknown) => void,
  ): Promise<RecallReply> {
    const { index, timeZone, readBack } = this.#equipment;
    const window = timeWindowOf(params, timeZone);
    const page = pageOf(params, index.columns.count);
    const filter = filterOf(index, params, { window, turns: page.turns });
    const answer = await this.#find(params, { filter, page, damaged });
    const limit = params.limit ?? defaults.limit;
    const { shown, unread, end, hasMore } = await this.#records(answer.turns, { skip: page.offset, limit });
    const hits = await show({ index, readBack }, shown, {
      terms: answer.terms,
      charsMax: params.max_chars ?? defaults.charsMax,
      window: params.window ?? defaults.window,
    });
    const next = { offset: end, turns: page.turns };
    const isCutOff = hasMore && end > offsetMax;
    const notes = [
      ...answer.notes,
      ...unreadNote(answer.unread + unread),
      ...(isCutOff ? ['there are more: ask for less of the time by since and until'] : []),
      ...(hits.length > 0 || answer.unread + unread > 0 ? [] : [emptyNote(params, page)]),
    ];
    return {
      hits,
      tier: answer.tier,
      filters: filtersOf(params),
      index: { state, behind },
      forgotten,
      ...(notes.length === 0 ? {} : { note: notes.join('; ') }),
      ...(hasMore && !isCutOff ? { next: cursorOf(params, next) } : {}),
    };
  }

  async #find(
    params: RecallParams,
    { filter, page, damaged }: { filter: Filter; page: Page; damaged: (error: unknown) => void },
  ): Promise<Answer> {
    const { index } = this.#equipment;
    const text = params.query.slice(0, queryCharsMax).toWellFormed();
    const speakers = namedSpeakers(text, index.names);
    const question = questionOf(text, speakers);
    const max = page.offset + (params.limit ?? defaults.limit) + spareRecords;
    if (question.terms.length === 0) {
      if (question.phrases.length > 0)
        return this.#phrases(question, this.#byTime(params, { filter, max: verifiedMax }));
      return { ...this.#byTime(params, { filter, max }), notes: commonWordsNote(question) };
    }
    const order = params.order ?? 'relevance';
    const isPhrase = question.phrases.length > 0;
    const found = await this.#search.find({
      question,
      speakers,
      filter,
      order,
      damaged,
      max: isPhrase ? Math.max(max, verifiedMax) : max,
    });
    const notes = [
      ...(found.isCut ? [`the query was cut to its ${termsMax} most telling terms`] : []),
      ...(params.query.length > queryCharsMax
        ? [`only its first ${queryCharsMax} characters were read`]
        : []),
    ];
    const answer = { turns: found.turns, terms: found.terms, unread: 0, notes };
    if (isPhrase) return this.#phrases(question, { ...answer, tier: 'exact' });
    return { ...answer, tier: found.holdsAll ? await this.#strictTier(question, found.turns) : 'loose' };
  }

  /** Of the turns those whose text holds every phrase. */
  async #phrases(question: Question, answer: Answer): Promise<Answer> {
    const { readBack, index } = this.#equipment;
    const heads = new RecordHeads(index.columns);
    const unread = new Set<number>();
    const kept: Scored[] = [];
    for (let at = 0; at < answer.turns.length; at += verifiedAtOnce) {
      const some = answer.turns.slice(at, at + verifiedAtOnce);
      const items = await readBack.items(some.map(({ turn }) => turn));
      kept.push(
        ...some.filter(({ turn }) => {
          const item = items.get(turn);
          if (item === undefined) unread.add(heads.of(turn));
          return item !== undefined && holdsPhrases(readBack.passageOnwards(turn, item), question.phrases);
        }),
      );
    }
    return { ...answer, turns: kept, unread: unread.size, tier: 'exact' };
  }

  async #strictTier(question: Question, turns: readonly Scored[]): Promise<Tier> {
    const best = turns[0];
    if (best === undefined) return 'words';
    const { readBack } = this.#equipment;
    const item = (await readBack.items([best.turn])).get(best.turn);
    if (item === undefined) return 'words';
    return holdsWritten(readBack.passageText(best.turn, item), question.written) ? 'exact' : 'words';
  }

  #byTime(params: RecallParams, { filter, max }: { filter: Filter; max: number }): Answer {
    const { columns } = this.#equipment.index;
    const isWindow = params.since !== undefined || params.until !== undefined;
    const chosen = params.order === 'newest' || params.order === 'oldest' ? params.order : undefined;
    const order = orderOf(chosen ?? (isWindow ? 'oldest' : 'newest'), columns.atMs);
    const best = new Best(max, order);
    for (let turn = 0; turn < columns.count; turn += 1) {
      const isHead = (columns.flags[turn]! & mark.continuation) === 0;
      if (isHead && filter(turn)) best.add({ turn, score: 0 });
    }
    return { turns: best.sorted(), tier: 'time', terms: new Map(), unread: 0, notes: [] };
  }

  /**
   * The records of turns in their order, each once, from the wanted place on; those that cannot be read are counted
   * and make room for the next.
   */
  async #records(
    turns: readonly Scored[],
    { skip, limit }: { skip: number; limit: number },
  ): Promise<{ shown: Shown[]; unread: number; end: number; hasMore: boolean }> {
    const { readBack, index } = this.#equipment;
    const distinct = new RecordHeads(index.columns).distinct(turns);
    const shown: Shown[] = [];
    let end = skip;
    while (shown.length < limit && end < distinct.length) {
      const wanted = distinct.slice(end, end + limit - shown.length);
      const items = await readBack.items(wanted.map(({ turn }) => turn));
      for (const found of wanted) {
        const item = items.get(found.turn);
        if (item !== undefined) shown.push({ found, item });
      }
      end += wanted.length;
    }
    const unread = Math.max(0, end - skip - shown.length);
    return { shown, unread, end, hasMore: distinct.length > end };
  }
}

function filtersOf(params: RecallParams): Record<string, unknown> {
  const { since, until, session, exclude_session, sources, order } = params;
  return Object.fromEntries(
    Object.entries({ since, until, session, exclude_session, sources, order }).filter(
      ([, value]) => value !== undefined,
    ),
  );
}

function commonWordsNote({ text }: Question): string[] {
  return /[\p{L}\p{N}]/u.test(text)
    ? ['the query holds only words too common to look up; listed by time']
    : [];
}

function unreadNote(unread: number): string[] {
  return unread === 0
    ? []
    : [
        `${unread} of what was found cannot be read now and is left out, because its session log or the record store is missing or damaged`,
      ];
}

function emptyNote({ since, until }: RecallParams, { offset }: Page): string {
  if (offset > 0) return 'there are no more';
  return since === undefined && until === undefined
    ? 'no record holds any of these words'
    : 'no record of this time holds any of these words';
}

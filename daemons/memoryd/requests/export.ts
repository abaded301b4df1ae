/** export: one page of everything that memoryd holds or reads, as lines of JSON; the same memory gives the same lines. */
import { isUtf8 } from 'node:buffer';
import { open, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError, toAppError } from '../../../shared/errors.ts';
import { exportedPrefixes, type ExportLine } from '../../../shared/export-lines.ts';
import type { Home } from '../../../shared/home.ts';
import { ParamsError } from '../../../shared/params-error.ts';
import { type MemorydProtocol } from '../../../shared/protocol/memoryd.ts';
import { curatedFiles } from '../../../shared/protocol/replies.ts';
import type { Params, Result } from '../../../shared/protocol/method.ts';
import { isSessionId, sessionLogSuffix } from '../../../shared/protocol/sessions.ts';
import { LineSplitter } from '../../../shared/wire.ts';
import type { CuratedMemory } from '../curated/curated-memory.ts';
import type { RecordStore } from '../store/record-store.ts';

export interface ExportContext {
  readonly store: Pick<RecordStore, 'range'>;
  readonly curated: Pick<CuratedMemory, 'block' | 'settled'>;
  readonly home: Pick<Home, 'memory' | 'sessions'>;
}

/** A page is closed once it has so many bytes, whatever the limit of lines. */
const pageBytesMax = 1024 * 1024;
const linesDefault = 1000;
const chunkBytes = 256 * 1024;
const logLineBytesMax = 256 * 1024 * 1024;
const afterAll = '\u{10ffff}';

/** Characters of a line that travel in one page; a longer line is cut, so that no reply is too large to be sent. */
const pieceCharsMax = 1024 * 1024;

/** `from` is how far into its line the page before came. */
type Place =
  | { readonly part: 'records'; readonly after: string; readonly from?: number }
  | { readonly part: 'files' }
  | { readonly part: 'sessions'; readonly id: string; readonly offset: number; readonly from?: number };

/** Collects lines until the page is full. */
class Page {
  readonly lines: string[] = [];
  readonly #linesMax: number;
  #bytes = 0;
  /** Where in the first line to go on. */
  #from: number;
  /** How far the last line came that did not go whole. */
  cutAt: number | undefined;

  constructor(linesMax: number, from: number) {
    this.#linesMax = linesMax;
    this.#from = from;
  }

  get isFull(): boolean {
    return this.lines.length >= this.#linesMax || this.#bytes >= pageBytesMax || this.cutAt !== undefined;
  }

  /** @returns false where the line is to go on in the next page */
  add(line: ExportLine, { isCuttable = true } = {}): boolean {
    const whole = JSON.stringify(line);
    const from = this.#from;
    this.#from = 0;
    let to = isCuttable ? Math.min(whole.length, from + pieceCharsMax) : whole.length;
    // Never between the halves of one character.
    if (to < whole.length && /[\uD800-\uDBFF]/.test(whole[to - 1] ?? '')) to -= 1;
    const piece = whole.slice(from, to);
    this.lines.push(piece);
    this.#bytes += piece.length;
    if (to < whole.length) this.cutAt = to;
    return this.cutAt === undefined;
  }
}

export async function exportPage(
  { cursor, limit = linesDefault }: Params<MemorydProtocol, 'export'>,
  { store, curated, home }: ExportContext,
): Promise<Result<MemorydProtocol, 'export'>> {
  if (cursor === undefined) await noticeHandEdits(curated);
  let place: Place | undefined = cursor === undefined ? { part: 'records', after: '' } : placeOf(cursor);
  const page = new Page(limit, 'from' in place ? (place.from ?? 0) : 0);
  while (place !== undefined && !page.isFull) {
    if (place.part === 'records') place = await addRecords(page, store, place.after);
    else if (place.part === 'files') place = await addFiles(page, home.memory);
    else place = await addSessions(page, home.sessions, place);
  }
  if (page.cutAt !== undefined)
    return { lines: page.lines, cut: true, next: JSON.stringify({ ...place, from: page.cutAt }) };
  return { lines: page.lines, ...(place === undefined ? {} : { next: JSON.stringify(place) }) };
}

/** So that files and history agree in what is exported; a file that cannot be read is told when its turn comes. */
async function noticeHandEdits(curated: ExportContext['curated']): Promise<void> {
  try {
    await curated.block();
  } catch (thrown) {
    if (toAppError(thrown).code !== 'memory-unreadable') throw thrown;
  }
  await curated.settled();
}

function placeOf(cursor: string): Place {
  try {
    const place = JSON.parse(cursor) as Place;
    if ('from' in place && !Number.isSafeInteger(place.from)) throw new TypeError('from');
    if (place.part === 'files') return { part: 'files' };
    if (place.part === 'records' && typeof place.after === 'string') return place;
    if (place.part === 'sessions' && isSessionId(place.id) && Number.isSafeInteger(place.offset))
      return place;
  } catch {
    // What is no JSON is no cursor of ours either.
  }
  throw new ParamsError('cursor', 'cursor is not one that export gave', cursor);
}

async function addRecords(page: Page, store: ExportContext['store'], after: string): Promise<Place> {
  for (const prefix of exportedPrefixes) {
    if (after > prefix + afterAll) continue;
    for await (const entries of store.range({ gt: after > prefix ? after : prefix, lt: prefix + afterAll })) {
      for (const entry of entries) {
        if ('damaged' in entry) {
          throw new AppError('store-damaged', `record ${entry.key} cannot be read`, {
            details: { key: entry.key },
          });
        }
        const line = { record: entry.key, seq: entry.seq, value: JSON.parse(entry.json) as unknown };
        if (!page.add(line)) return { part: 'records', after };
        after = entry.key;
        if (page.isFull) return { part: 'records', after: entry.key };
      }
    }
  }
  return { part: 'files' };
}

async function addFiles(page: Page, folder: string): Promise<Place | undefined> {
  for (const file of curatedFiles) {
    const bytes = await readFile(join(folder, `${file}.md`)).catch((cause: NodeJS.ErrnoException) => {
      if (cause.code === 'ENOENT') return undefined;
      throw new AppError('memory-unreadable', `read ${file}.md: ${cause.code}`, { cause });
    });
    if (bytes === undefined) continue;
    if (!isUtf8(bytes)) throw new AppError('memory-unreadable', `${file}.md is not UTF-8`);
    page.add({ file, text: bytes.toString('utf8') }, { isCuttable: false });
  }
  return { part: 'sessions', id: '0', offset: -1 };
}

async function addSessions(
  page: Page,
  folder: string,
  { id, offset }: Place & { part: 'sessions' },
): Promise<Place | undefined> {
  const ids = (await readdir(folder).catch(() => []))
    .filter((name) => name.endsWith(sessionLogSuffix))
    .map((name) => name.slice(0, -sessionLogSuffix.length))
    .filter((name) => isSessionId(name) && (offset < 0 || name >= id))
    .toSorted();
  for (const session of ids) {
    const stopped = await addLog(page, join(folder, session + sessionLogSuffix), {
      session,
      from: session === id ? Math.max(0, offset) : 0,
    });
    if (stopped !== undefined) return { part: 'sessions', id: session, offset: stopped };
  }
  return undefined;
}

/** Adds whole lines from an offset on. @returns where to go on when the page is full */
async function addLog(
  page: Page,
  path: string,
  { session, from }: { session: string; from: number },
): Promise<number | undefined> {
  const file = await open(path, 'r');
  try {
    const splitter = new LineSplitter(logLineBytesMax);
    const chunk = Buffer.alloc(chunkBytes);
    let offset = from;
    let at = from;
    for (;;) {
      const { bytesRead } = await file.read(chunk, 0, chunkBytes, at);
      if (bytesRead === 0) return undefined;
      at += bytesRead;
      for (const line of splitter.push(chunk.subarray(0, bytesRead))) {
        if (line === undefined || splitter.isOver)
          throw new AppError('session-damaged', `the log of ${session} is damaged near byte ${offset}`);
        if (!page.add({ session, line })) return offset;
        offset += Buffer.byteLength(line) + 1;
        if (page.isFull) return offset;
      }
    }
  } finally {
    await file.close();
  }
}

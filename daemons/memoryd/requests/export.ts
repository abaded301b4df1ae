/** export: one page of everything that memoryd holds or reads, as lines of JSON; the same memory gives the same lines. */
import { open, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../../shared/errors.ts';
import { exportedPrefixes, type ExportLine } from '../../../shared/export-lines.ts';
import type { Home } from '../../../shared/home.ts';
import { ParamsError } from '../../../shared/params-error.ts';
import { type MemorydProtocol } from '../../../shared/protocol/memoryd.ts';
import { curatedFiles } from '../../../shared/protocol/replies.ts';
import type { Params, Result } from '../../../shared/protocol/method.ts';
import { isSessionId, sessionLogSuffix } from '../../../shared/protocol/sessions.ts';
import { LineSplitter } from '../../../shared/wire.ts';
import type { RecordStore } from '../store/record-store.ts';

export interface ExportContext {
  readonly store: Pick<RecordStore, 'range'>;
  readonly home: Pick<Home, 'memory' | 'sessions'>;
}

/** A page is closed once it has so many bytes, whatever the limit of lines. */
const pageBytesMax = 1024 * 1024;
const linesDefault = 1000;
const chunkBytes = 256 * 1024;
const logLineBytesMax = 256 * 1024 * 1024;
const afterAll = '\u{10ffff}';

type Place =
  | { readonly part: 'records'; readonly after: string }
  | { readonly part: 'files' }
  | { readonly part: 'sessions'; readonly id: string; readonly offset: number };

/** Collects lines until the page is full. */
class Page {
  readonly lines: string[] = [];
  readonly #linesMax: number;
  #bytes = 0;

  constructor(linesMax: number) {
    this.#linesMax = linesMax;
  }

  get isFull(): boolean {
    return this.lines.length >= this.#linesMax || this.#bytes >= pageBytesMax;
  }

  add(line: ExportLine): void {
    const text = JSON.stringify(line);
    this.lines.push(text);
    this.#bytes += text.length;
  }
}

export async function exportPage(
  { cursor, limit = linesDefault }: Params<MemorydProtocol, 'export'>,
  { store, home }: ExportContext,
): Promise<Result<MemorydProtocol, 'export'>> {
  const page = new Page(limit);
  let place: Place | undefined = cursor === undefined ? { part: 'records', after: '' } : placeOf(cursor);
  while (place !== undefined && !page.isFull) {
    if (place.part === 'records') place = await addRecords(page, store, place.after);
    else if (place.part === 'files') place = await addFiles(page, home.memory);
    else place = await addSessions(page, home.sessions, place);
  }
  return { lines: page.lines, ...(place === undefined ? {} : { next: JSON.stringify(place) }) };
}

function placeOf(cursor: string): Place {
  try {
    const place = JSON.parse(cursor) as Place;
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
        page.add({ record: entry.key, seq: entry.seq, value: JSON.parse(entry.json) as unknown });
        if (page.isFull) return { part: 'records', after: entry.key };
      }
    }
  }
  return { part: 'files' };
}

async function addFiles(page: Page, folder: string): Promise<Place | undefined> {
  for (const file of curatedFiles) {
    const text = await readFile(join(folder, `${file}.md`), 'utf8').catch((cause: NodeJS.ErrnoException) => {
      if (cause.code === 'ENOENT') return undefined;
      throw new AppError('memory-unreadable', `read ${file}.md: ${cause.code}`, { cause });
    });
    if (text !== undefined) page.add({ file, text });
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
        page.add({ session, line });
        offset += Buffer.byteLength(line) + 1;
        if (page.isFull) return offset;
      }
    }
  } finally {
    await file.close();
  }
}

/** Brings an export of ours back in: its digest first, then records and files to memoryd, sessions to loopd. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { AppError } from '../../shared/errors.ts';
import { exportFormat, type ExportLine } from '../../shared/export-lines.ts';
import { LineSplitter } from '../../shared/wire.ts';
import type { CommandContext } from './command.ts';

const lineBytesMax = 512 * 1024 * 1024;
const batchLinesMax = 500;
const batchBytesMax = 2 * 1024 * 1024;

async function* linesOf(file: string): AsyncGenerator<string, void, undefined> {
  const splitter = new LineSplitter(lineBytesMax);
  for await (const chunk of createReadStream(file)) {
    for (const line of splitter.push(chunk as Buffer)) {
      if (line === undefined) throw damaged(file, 'a line is not UTF-8');
      yield line;
    }
    if (splitter.isOver) throw damaged(file, `a line is over ${lineBytesMax} bytes`);
  }
  for (const line of splitter.end()) yield line ?? '';
}

function damaged(file: string, why: string): AppError {
  return new AppError('rejected', `${file} is no whole export: ${why}; nothing was imported`, {
    details: { file },
  });
}

/** @throws AppError rejected where head, counts or digest are not right */
async function verify(file: string): Promise<void> {
  const digest = createHash('sha256');
  let head: ExportLine | undefined;
  let end: ExportLine | undefined;
  let count = 0;
  for await (const text of linesOf(file)) {
    if (end !== undefined) throw damaged(file, 'something follows its end');
    if (text.startsWith('{"end":')) end = JSON.parse(text) as ExportLine;
    else {
      head ??= JSON.parse(text) as ExportLine;
      digest.update(`${text}\n`);
      count += 1;
    }
  }
  if (head === undefined || !('loopkeep' in head)) throw damaged(file, 'it has no head');
  if (head.format > exportFormat)
    throw new AppError('store-newer', `${file} has export format ${head.format}`, {
      details: { format: head.format },
    });
  if (end === undefined || !('end' in end)) throw damaged(file, 'its end is missing');
  const { records, files, lines, sha256 } = end.end;
  if (records + files + lines + 1 !== count)
    throw damaged(file, `it has ${count - 1} lines and says ${records + files + lines}`);
  if (sha256 !== digest.digest('hex')) throw damaged(file, 'its digest differs');
}

interface Totals {
  stored: number;
  known: number;
  sessions: number;
  known_sessions: number;
}

export async function importExport(context: CommandContext, file: string): Promise<void> {
  await verify(file);
  const totals: Totals = { stored: 0, known: 0, sessions: 0, known_sessions: 0 };
  const batch = new Batch(async (lines) => {
    const { stored, known } = await context.memory().call('import', { lines });
    totals.stored += stored;
    totals.known += known;
  });
  let session: { id: string; lines: string[] } | undefined;
  const sendSession = async () => {
    if (session === undefined) return;
    const channel = await context.channel();
    const reply = await channel.request<{ imported?: string[] }>('_loopkeep/import', { sessions: [session] });
    if ((reply.imported ?? []).length > 0) totals.sessions += 1;
    else totals.known_sessions += 1;
  };
  for await (const text of linesOf(file)) {
    if (text.startsWith('{"record":') || text.startsWith('{"file":')) await batch.add(text);
    else if (text.startsWith('{"session":')) {
      const { session: id, line } = JSON.parse(text) as { session: string; line: string };
      if (session?.id !== id) {
        await sendSession();
        session = { id, lines: [] };
      }
      session.lines.push(line);
    }
  }
  await batch.send();
  await sendSession();
  context.out.result(
    totals,
    () =>
      `${totals.stored} records and files stored, ${totals.known} were known; ${totals.sessions} sessions imported, ${totals.known_sessions} were known`,
  );
}

/** Lines that travel together. */
class Batch {
  readonly #deliver: (lines: string[]) => Promise<void>;
  #lines: string[] = [];
  #bytes = 0;

  constructor(deliver: (lines: string[]) => Promise<void>) {
    this.#deliver = deliver;
  }

  async add(line: string): Promise<void> {
    this.#lines.push(line);
    this.#bytes += line.length;
    if (this.#lines.length >= batchLinesMax || this.#bytes >= batchBytesMax) await this.send();
  }

  async send(): Promise<void> {
    const lines = this.#lines;
    this.#lines = [];
    this.#bytes = 0;
    if (lines.length > 0) await this.#deliver(lines);
  }
}

/** Brings an export of ours back in: its digest first, then records and files to memoryd, sessions to loopd. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { AppError } from '../../shared/errors.ts';
import { exportFormat, type ExportLine } from '../../shared/export-lines.ts';
import { LineSplitter } from '../../shared/wire.ts';
import type { CommandContext } from './command.ts';
import { ImportBatch } from './import-batch.ts';
import { startProgress, type Progress } from './progress.ts';
import { SessionSender } from './session-sender.ts';

const lineBytesMax = 512 * 1024 * 1024;

async function* linesOf(file: string, progress: Progress): AsyncGenerator<string, void, undefined> {
  const splitter = new LineSplitter(lineBytesMax);
  const source = createReadStream(file);
  try {
    for await (const chunk of source) {
      for (const line of splitter.push(chunk as Buffer)) {
        if (line === undefined) throw damaged(file, 'a line is not UTF-8');
        yield line;
      }
      if (splitter.isOver) throw damaged(file, `a line is over ${lineBytesMax} bytes`);
      progress.add((chunk as Buffer).length);
    }
    for (const line of splitter.end()) yield line ?? '';
  } catch (thrown) {
    const { code, syscall } = thrown as NodeJS.ErrnoException;
    if (syscall === undefined) throw thrown;
    throw new AppError('rejected', `${file} cannot be read: ${code}`, { details: { file }, cause: thrown });
  }
}

function damaged(file: string, why: string): AppError {
  return new AppError('rejected', `${file} is no whole export: ${why}; nothing was imported`, {
    details: { file },
  });
}

/** @throws AppError rejected where head, order, counts or digest are not right */
async function verify(file: string, progress: Progress): Promise<void> {
  const digest = createHash('sha256');
  let head: ExportLine | undefined;
  let end: ExportLine | undefined;
  let count = 0;
  for await (const text of linesOf(file, progress)) {
    if (end !== undefined) throw damaged(file, 'something follows its end');
    if (text.startsWith('{"end":')) end = parsed(file, text);
    else {
      head ??= parsed(file, text);
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

function parsed(file: string, text: string): ExportLine {
  try {
    return JSON.parse(text) as ExportLine;
  } catch {
    throw damaged(file, 'a line is cut off');
  }
}

export async function importExport(context: CommandContext, file: string): Promise<void> {
  const bytes = await stat(file).then(
    ({ size }) => size,
    () => undefined,
  );
  const begin = (what: string) => startProgress(context.out, { what, total: bytes, unit: 'bytes' });
  const checking = begin('check');
  await verify(file, checking).finally(() => checking.end());
  const batch = new ImportBatch(context.memory());
  const sender = new SessionSender(() => context.channel());
  const importing = begin('import');
  try {
    for await (const text of linesOf(file, importing)) {
      if (text.startsWith('{"record":') || text.startsWith('{"file":')) await batch.add(text);
      else if (text.startsWith('{"session":')) {
        const { session, line } = JSON.parse(text) as { session: string; line: string };
        await sender.add(session, line);
      }
    }
    await batch.send();
    await sender.end();
  } finally {
    importing.end();
  }
  const totals = { ...batch.totals, ...sender.totals };
  context.out.result(
    totals,
    () =>
      `${totals.stored} records and files stored, ${totals.known} were known; ${totals.sessions} sessions imported, ${totals.known_sessions} were known`,
  );
}

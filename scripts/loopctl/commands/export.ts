/** loopctl export: everything as JSON Lines, streamed, closed by counts and a digest. */
import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import type { Writable } from 'node:stream';
import { AppError, type ErrorCode } from '../../../shared/errors.ts';
import { exportHead, type ExportLine } from '../../../shared/export-lines.ts';
import type { CommandContext, Run } from '../command.ts';
import { startProgress } from '../progress.ts';

export const exportFile: Run = async (context, [file]) => {
  if (file === undefined) {
    await writeExport(context, process.stdout);
    return;
  }
  // Under its name there is a whole export or the one before.
  const unfinished = `${file}.unfinished`;
  const target = createWriteStream(unfinished, { mode: 0o600, flush: true });
  const failed = new Promise<never>((_resolve, reject) => {
    target.once('error', (cause: NodeJS.ErrnoException) => reject(writeError(file, cause)));
  });
  try {
    const counts = await Promise.race([writeExport(context, target), failed]);
    await Promise.race([new Promise<void>((resolve) => target.end(() => resolve())), failed]);
    await rename(unfinished, file).catch((cause: NodeJS.ErrnoException) => {
      throw writeError(file, cause);
    });
    context.out.result(
      counts,
      () =>
        `${counts.records} records, ${counts.files} files, ${counts.lines} session lines; sha256 ${counts.sha256}`,
    );
  } catch (thrown) {
    target.destroy();
    await rm(unfinished, { force: true });
    throw thrown;
  }
};

/** What a disk answers to a write, apart from what a folder answers to a name. */
const diskErrnos = new Map<string | undefined, ErrorCode>([
  ['ENOSPC', 'store-full'],
  ['EDQUOT', 'store-full'],
  ['EIO', 'store-write-failed'],
]);

function writeError(file: string, cause: NodeJS.ErrnoException): AppError {
  return new AppError(diskErrnos.get(cause.code) ?? 'file-not-created', `write ${file}: ${cause.code}`, {
    cause,
  });
}

async function writeExport({ memory, out }: CommandContext, target: Writable) {
  const digest = createHash('sha256');
  const counts = { records: 0, files: 0, lines: 0 };
  const progress =
    target === process.stdout ? undefined : startProgress(out, { what: 'export', unit: 'lines' });
  const write = async (text: string) => {
    digest.update(text);
    if (!target.write(text)) await new Promise<void>((resolve) => target.once('drain', () => resolve()));
  };
  await write(`${JSON.stringify(exportHead)}\n`);
  let cursor: string | undefined;
  let isGoingOn = false;
  do {
    const page = await memory().call('export', cursor === undefined ? {} : { cursor });
    for (const [at, line] of page.lines.entries()) {
      if (!isGoingOn) count(line, counts);
      isGoingOn = page.cut === true && at === page.lines.length - 1;
      await write(isGoingOn ? line : `${line}\n`);
    }
    progress?.add(page.lines.length);
    cursor = page.next;
  } while (cursor !== undefined);
  progress?.end();
  const end = { ...counts, sha256: digest.digest('hex') };
  target.write(`${JSON.stringify({ end } satisfies ExportLine)}\n`);
  return end;
}

function count(line: string, counts: { records: number; files: number; lines: number }): void {
  if (line.startsWith('{"record":')) counts.records += 1;
  else if (line.startsWith('{"file":')) counts.files += 1;
  else counts.lines += 1;
}

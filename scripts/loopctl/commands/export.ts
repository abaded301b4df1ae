/** loopctl export: everything as JSON Lines, streamed, closed by counts and a digest. */
import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import type { Writable } from 'node:stream';
import { AppError } from '../../../shared/errors.ts';
import { exportHead, type ExportLine } from '../../../shared/export-lines.ts';
import type { CommandContext, Run } from '../command.ts';

export const exportFile: Run = async (context, [file]) => {
  const target = file === undefined ? process.stdout : createWriteStream(file, { mode: 0o600 });
  const failed = new Promise<never>((_resolve, reject) => {
    target.once('error', (cause: NodeJS.ErrnoException) =>
      reject(
        new AppError(
          cause.code === 'ENOSPC' ? 'store-full' : 'store-write-failed',
          `write ${file ?? 'standard output'}: ${cause.code}`,
          { cause },
        ),
      ),
    );
  });
  const counts = await Promise.race([writeExport(context, target), failed]);
  if (file === undefined) return;
  await Promise.race([new Promise<void>((resolve) => (target as Writable).end(() => resolve())), failed]);
  context.out.result(
    counts,
    () =>
      `${counts.records} records, ${counts.files} files, ${counts.lines} session lines; sha256 ${counts.sha256}`,
  );
};

async function writeExport({ memory }: CommandContext, target: Writable) {
  const digest = createHash('sha256');
  const counts = { records: 0, files: 0, lines: 0 };
  const write = async (line: string) => {
    digest.update(`${line}\n`);
    if (!target.write(`${line}\n`))
      await new Promise<void>((resolve) => target.once('drain', () => resolve()));
  };
  await write(JSON.stringify(exportHead));
  let cursor: string | undefined;
  do {
    const page = await memory().call('export', cursor === undefined ? {} : { cursor });
    for (const line of page.lines) {
      if (line.startsWith('{"record":')) counts.records += 1;
      else if (line.startsWith('{"file":')) counts.files += 1;
      else counts.lines += 1;
      await write(line);
    }
    cursor = page.next;
  } while (cursor !== undefined);
  const end = { ...counts, sha256: digest.digest('hex') };
  target.write(`${JSON.stringify({ end } satisfies ExportLine)}\n`);
  return end;
}

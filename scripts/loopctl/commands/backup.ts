/** loopctl backup, backup list, backup verify: copies of everything, made while it runs, each as small as what is new. */
import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { AppError } from '../../../shared/errors.ts';
import { BackupFolder, piecesOf } from '../backup-folder.ts';
import type { Run } from '../command.ts';
import { tableOf } from '../output.ts';
import { startProgress } from '../progress.ts';
import { verifyBackup } from '../verify-backup.ts';

/** A first backup of a large memory has no other limit than this. */
const longMs = 6 * 60 * 60 * 1000;
const secondMs = 1000;

export const backup: Run = async ({ memory, out }, [dir = '']) => {
  const progress = startProgress(out, { what: 'backup', unit: 'seconds' });
  const timer = setInterval(() => progress.add(1), secondMs);
  try {
    const reply = await memory().call('backup', { to: resolve(dir) }, { timeoutMs: longMs });
    progress.end();
    out.result(
      reply,
      () => `${reply.path}\n${reply.records} records; ${reply.files} new pieces, ${reply.bytes} bytes`,
    );
  } finally {
    clearInterval(timer);
    progress.end();
  }
};

interface Listed {
  readonly name: string;
  readonly at?: string;
  readonly records?: number;
  readonly sessions?: number;
  readonly bytes?: number;
  readonly version?: string;
  /** Why it cannot be read. */
  readonly fault?: string;
}

export const list: Run = async ({ out }, [dir = '']) => {
  const folder = new BackupFolder(resolve(dir));
  const backups: Listed[] = [];
  for (const name of await folder.names()) {
    try {
      const { manifest } = await folder.read(name);
      backups.push({
        name,
        at: manifest.at,
        version: manifest.version,
        records: manifest.records.count,
        sessions: Object.keys(manifest.sessions).length,
        bytes: await bytesOf(folder, piecesOf(manifest)),
      });
    } catch (thrown) {
      if (!(thrown instanceof AppError)) throw thrown;
      backups.push({ name, fault: thrown.message });
    }
  }
  out.result({ backups }, () =>
    backups.length === 0
      ? 'no backups'
      : tableOf(
          ['name', 'records', 'sessions', 'bytes', 'version'],
          backups.map(({ name, records, sessions, bytes, version, fault }) =>
            fault === undefined
              ? [name, `${records}`, `${sessions}`, `${bytes}`, version ?? '']
              : [name, fault, '', '', ''],
          ),
        ),
  );
};

/** Missing pieces count nothing here; verify names them. */
async function bytesOf(folder: BackupFolder, pieces: readonly string[]): Promise<number> {
  let bytes = 0;
  for (const piece of new Set(pieces))
    bytes += (await stat(join(folder.path, 'objects', piece)).catch(() => undefined))?.size ?? 0;
  return bytes;
}

export const verify: Run = async ({ out }, [dir = '', name]) => {
  const folder = new BackupFolder(resolve(dir));
  const found = await folder.read(name);
  const progress = startProgress(out, {
    what: 'verify',
    total: piecesOf(found.manifest).length,
    unit: 'pieces',
  });
  const verdict = await verifyBackup(folder, found, progress).finally(() => progress.end());
  const { faults, records, sessions, files, pieces } = verdict;
  out.result(verdict, () =>
    [
      ...faults.map((fault) => `FAULT  ${fault}`),
      `${verdict.name}: ${records} records, ${sessions} sessions, ${files} files in ${pieces} pieces`,
      `backup verify: ${faults.length === 0 ? 'ok' : 'FAULT'}`,
    ].join('\n'),
  );
  if (faults.length > 0)
    throw new AppError('store-damaged', `the backup ${verdict.name} is damaged in ${faults.length} places`);
};

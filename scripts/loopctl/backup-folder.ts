/** A folder of backups as whoever lists, checks or restores them reads it; every piece is checked by its digest. */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { backupFormat, type BackupManifest } from '../../shared/backup-format.ts';
import { AppError } from '../../shared/errors.ts';

const manifestSuffix = '.json';
/** Pieces are at most a few MiB; a manifest names one for each of them. */
const pieceNamePattern = /^[0-9a-f]{64}$/;

export interface Backup {
  readonly name: string;
  readonly manifest: BackupManifest;
}

export class BackupFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** Names of its backups, oldest first. @throws AppError rejected where it is no folder of backups */
  async names(): Promise<string[]> {
    const names = await readdir(join(this.path, 'backups')).catch((cause: NodeJS.ErrnoException) => {
      throw new AppError('rejected', `${this.path} is no folder of backups: ${cause.code}`, {
        details: { path: this.path },
        cause,
      });
    });
    return names
      .filter((name) => name.endsWith(manifestSuffix))
      .map((name) => name.slice(0, -manifestSuffix.length))
      .toSorted();
  }

  /** The newest where no name is given. @throws AppError rejected, store-newer */
  async read(name?: string): Promise<Backup> {
    const names = await this.names();
    const wanted = name === undefined ? names.at(-1) : names.find((known) => known === name);
    if (wanted === undefined)
      throw new AppError('rejected', `there is no backup ${name ?? ''} in ${this.path}`, {
        details: { path: this.path, backups: names.slice(-10) },
      });
    const text = await readFile(join(this.path, 'backups', wanted + manifestSuffix), 'utf8');
    const manifest = manifestOf(text);
    if (manifest === undefined)
      throw damagedBackup(`the backup ${wanted} has no readable list of its pieces`);
    if (manifest.format > backupFormat)
      throw new AppError('store-newer', `the backup ${wanted} has format ${manifest.format}`, {
        details: { format: manifest.format },
      });
    return { name: wanted, manifest };
  }

  /** @throws AppError store-damaged where it is missing or not what was written */
  async piece(name: string): Promise<Buffer> {
    if (!pieceNamePattern.test(name)) throw damagedBackup(`${name} is no name of a piece`);
    const bytes = await readFile(join(this.path, 'objects', name)).catch((cause: NodeJS.ErrnoException) => {
      throw damagedBackup(`the piece ${name} cannot be read: ${cause.code}`, cause);
    });
    if (createHash('sha256').update(bytes).digest('hex') !== name)
      throw damagedBackup(`the piece ${name} is not what was written`);
    return bytes;
  }
}

export function damagedBackup(message: string, cause?: unknown): AppError {
  return new AppError('store-damaged', message, { cause });
}

export function piecesOf({ records, files, sessions }: BackupManifest): string[] {
  return [...records.pieces, ...Object.values(files), ...Object.values(sessions).flat()];
}

function manifestOf(text: string): BackupManifest | undefined {
  try {
    const manifest = JSON.parse(text) as Partial<BackupManifest> | null;
    const isWhole =
      typeof manifest?.format === 'number' &&
      typeof manifest.at === 'string' &&
      Array.isArray(manifest.records?.pieces) &&
      typeof manifest.records.count === 'number' &&
      typeof manifest.files === 'object' &&
      typeof manifest.sessions === 'object';
    return isWhole ? (manifest as BackupManifest) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * A folder of backups: `objects/<sha256>` are pieces that several backups share, `backups/<time>.json` says which
 * pieces a backup is made of. A piece that is there already is not written again, so a backup costs what is new.
 */

export const backupFormat = 1;

export interface BackupManifest {
  readonly format: number;
  readonly version: string;
  /** RFC 3339, UTC. */
  readonly at: string;
  /** Pieces of record lines, as an export has them, in key order. */
  readonly records: { readonly count: number; readonly pieces: readonly string[] };
  /** Curated files, one piece each. */
  readonly files: Readonly<Record<string, string>>;
  /** Session logs: pieces of their bytes, in order. */
  readonly sessions: Readonly<Record<string, readonly string[]>>;
}

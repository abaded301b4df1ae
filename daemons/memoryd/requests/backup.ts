/** backup: a consistent copy of records, curated files and session logs into a folder of backups, while memoryd runs. */
import { mkdir, open, readdir, readFile } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { crc32 } from 'node:zlib';
import { backupFormat, type BackupManifest } from '../../../shared/backup-format.ts';
import { AppError } from '../../../shared/errors.ts';
import { exportedPrefixes } from '../../../shared/export-lines.ts';
import type { Home } from '../../../shared/home.ts';
import { ParamsError } from '../../../shared/params-error.ts';
import { type MemorydProtocol } from '../../../shared/protocol/memoryd.ts';
import { curatedFiles } from '../../../shared/protocol/replies.ts';
import type { Params, Result } from '../../../shared/protocol/method.ts';
import { isSessionId, sessionLogSuffix } from '../../../shared/protocol/sessions.ts';
import { version } from '../../../shared/version.ts';
import { Pieces, writeDurably } from '../backup/pieces.ts';
import type { Faults } from '../faults.ts';
import { rememberBackup } from '../backup/known-backups.ts';
import type { RecordSnapshot, RecordStore } from '../store/record-store.ts';

export interface BackupContext {
  readonly store: Pick<RecordStore, 'snapshot' | 'commit'>;
  readonly home: Pick<Home, 'memory' | 'sessions'>;
  readonly faults: Pick<Faults, 'succeeded' | 'failed'>;
  readonly nowMs: () => number;
}

/** A piece of records ends behind a key whose checksum says so: an insertion changes the piece it falls into and no other. */
const recordsPerPiece = 2048;
const pieceBytesMax = 4 * 1024 * 1024;
/** A person who writes without pause does not keep a backup from being made. */
const triesMax = 5;
const afterAll = '\u{10ffff}';

export async function backup(
  { to }: Params<MemorydProtocol, 'backup'>,
  context: BackupContext,
): Promise<Result<MemorydProtocol, 'backup'>> {
  if (!isAbsolute(to))
    throw new ParamsError('to', 'to must be an absolute path on the device of memoryd', to);
  try {
    const done = await backUp(to, context);
    await rememberBackup(context.store, { path: to, at: context.nowMs() });
    context.faults.succeeded('backup');
    return done;
  } catch (thrown) {
    context.faults.failed('backup');
    throw thrown;
  }
}

async function backUp(
  to: string,
  { store, home, nowMs }: BackupContext,
): Promise<Result<MemorydProtocol, 'backup'>> {
  const pieces = new Pieces(join(to, 'objects'));
  await pieces.prepare();
  const at = new Date(nowMs()).toISOString();
  const { files, snapshot } = await atOneMoment(store, home.memory, pieces);
  const records = await backUpRecords(snapshot, pieces);
  const sessions = await backUpSessions(home.sessions, pieces);
  const manifest: BackupManifest = { format: backupFormat, version, at, records, files, sessions };
  const folder = join(to, 'backups');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, `${at.replaceAll(':', '-')}.json`);
  // The manifest last: a backup that was cut off is none.
  await writeDurably(path, Buffer.from(`${JSON.stringify(manifest)}\n`));
  return { path, ...pieces.written, records: records.count };
}

/**
 * The files, and the records with their history as they were with these files. A change is in the history before it is
 * in its file: where it is in one of them only, restoring does what a start after a crash does.
 */
async function atOneMoment(
  store: BackupContext['store'],
  folder: string,
  pieces: Pieces,
): Promise<{ files: Record<string, string>; snapshot: RecordSnapshot }> {
  for (let tries = 1; ; tries += 1) {
    const files = await backUpFiles(folder, pieces);
    const snapshot = store.snapshot();
    try {
      const after = await backUpFiles(folder, pieces);
      const isStill = curatedFiles.every((file) => files[file] === after[file]);
      if (isStill || tries === triesMax) return { files, snapshot };
    } catch (error) {
      await snapshot.close();
      throw error;
    }
    await snapshot.close();
  }
}

/** The snapshot is closed when this is over. */
async function backUpRecords(snapshot: RecordSnapshot, pieces: Pieces): Promise<BackupManifest['records']> {
  const names: string[] = [];
  let count = 0;
  let lines: string[] = [];
  let bytes = 0;
  const close = async () => {
    if (lines.length > 0) names.push(await pieces.put(Buffer.from(lines.join(''))));
    lines = [];
    bytes = 0;
  };
  try {
    for (const prefix of exportedPrefixes) {
      for await (const entries of snapshot.range({ gt: prefix, lt: prefix + afterAll })) {
        for (const entry of entries) {
          if ('damaged' in entry) {
            throw new AppError('store-damaged', `record ${entry.key} cannot be read`, {
              details: { key: entry.key },
            });
          }
          const line = `{"record":${JSON.stringify(entry.key)},"seq":${entry.seq},"value":${entry.json}}\n`;
          lines.push(line);
          bytes += line.length;
          count += 1;
          if (crc32(entry.key) % recordsPerPiece === 0 || bytes > pieceBytesMax) await close();
        }
      }
    }
    await close();
  } finally {
    await snapshot.close();
  }
  return { count, pieces: names };
}

async function backUpFiles(folder: string, pieces: Pieces): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for (const file of curatedFiles) {
    const bytes = await readFile(join(folder, `${file}.md`)).catch((cause: NodeJS.ErrnoException) => {
      if (cause.code === 'ENOENT') return undefined;
      throw new AppError('memory-unreadable', `read ${file}.md: ${cause.code}`, { cause });
    });
    if (bytes !== undefined) files[file] = await pieces.put(bytes);
  }
  return files;
}

/** Logs only grow, so all pieces but a log's last are there since the backup before. */
async function backUpSessions(folder: string, pieces: Pieces): Promise<Record<string, string[]>> {
  const sessions: Record<string, string[]> = {};
  for (const name of (await readdir(folder).catch((): string[] => [])).toSorted()) {
    const id = name.slice(0, -sessionLogSuffix.length);
    if (!name.endsWith(sessionLogSuffix) || !isSessionId(id)) continue;
    const file = await open(join(folder, name), 'r');
    try {
      const names: string[] = [];
      for (let at = 0; ; at += pieceBytesMax) {
        const { buffer, bytesRead } = await file.read(Buffer.alloc(pieceBytesMax), 0, pieceBytesMax, at);
        if (bytesRead > 0) names.push(await pieces.put(buffer.subarray(0, bytesRead)));
        if (bytesRead < pieceBytesMax) break;
      }
      sessions[id] = names;
    } finally {
      await file.close();
    }
  }
  return sessions;
}

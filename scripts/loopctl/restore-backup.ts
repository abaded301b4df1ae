/**
 * Puts a backup in the place of a home. What was there is set aside first, whole; the records go in through a memoryd of
 * our own, so that they are checked as any import is; what came out of it is compared with the backup before it counts.
 */
import { chmod, chown, mkdir, open, rename, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { AppError } from '../../shared/errors.ts';
import type { Home } from '../../shared/home.ts';
import { sessionLogSuffix } from '../../shared/protocol/sessions.ts';
import { damagedBackup, type Backup, type BackupFolder } from './backup-folder.ts';
import { ImportBatch } from './import-batch.ts';
import { ownerOf, startOwnMemoryd, type Owner } from './own-memoryd.ts';
import type { Progress } from './progress.ts';

export type HomeFolders = Pick<Home, 'home' | 'store' | 'memory' | 'sessions'>;
const parts = ['store', 'memory', 'sessions'] as const;

interface SetAside {
  readonly from: string;
  readonly to: string;
}

interface Restore {
  readonly folder: BackupFolder;
  readonly backup: Backup;
  readonly home: HomeFolders;
  /** Of the session logs. */
  readonly logMode: number;
  readonly progress: Progress;
  readonly nowMs: number;
}

/** @returns where what was there lies now. @throws AppError, and then everything is as it was */
export async function restoreBackup(restore: Restore): Promise<string[]> {
  const { home, nowMs } = restore;
  const stamp = new Date(nowMs).toISOString().replaceAll(':', '-');
  const aside = await setAside(home, `before-restore-${stamp}`);
  try {
    await laySessions(restore);
    await layRecords(restore);
  } catch (thrown) {
    // What came of it is kept too: it says what went wrong.
    await setAside(home, `failed-restore-${stamp}`, { isMade: false });
    for (const { from, to } of aside) await rename(to, from);
    throw thrown;
  }
  return aside.map(({ to }) => to);
}

/** Renames the parts and makes empty ones like them; a part that lies on another disk than the home stays beside its place. */
async function setAside(home: HomeFolders, name: string, { isMade = true } = {}): Promise<SetAside[]> {
  const moved: SetAside[] = [];
  const folder = join(home.home, name);
  for (const part of parts) {
    const from = home[part];
    const found = await stat(from).catch(() => undefined);
    if (found !== undefined) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const to = await move(from, join(folder, part), name);
      moved.push({ from, to });
    }
    if (!isMade) continue;
    await mkdir(from, { recursive: true, mode: 0o700 });
    if (found === undefined) continue;
    if (process.getuid?.() === 0) await chown(from, found.uid, found.gid);
    await chmod(from, found.mode & 0o7777);
  }
  return moved;
}

async function move(from: string, to: string, name: string): Promise<string> {
  try {
    await rename(from, to);
    return to;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EXDEV') throw thrown;
    const beside = join(dirname(from), `${basename(from)}.${name}`);
    await rename(from, beside);
    return beside;
  }
}

async function laySessions({ folder, backup, home, logMode, progress }: Restore): Promise<void> {
  const owner = await ownerOf(home.sessions);
  for (const [id, pieces] of Object.entries(backup.manifest.sessions)) {
    await layFile(join(home.sessions, id + sessionLogSuffix), { owner, mode: logMode }, async function* () {
      for (const piece of pieces) {
        yield await folder.piece(piece);
        progress.add(1);
      }
    });
  }
  await syncFolder(home.sessions);
}

interface Access {
  readonly owner: Owner | undefined;
  readonly mode: number;
}

async function layFile(
  path: string,
  { owner, mode }: Access,
  bytes: () => AsyncGenerator<Buffer, void, undefined>,
): Promise<void> {
  const file = await open(path, 'w', mode);
  try {
    await file.chmod(mode);
    if (owner !== undefined) await file.chown(owner.uid, owner.gid);
    for await (const piece of bytes()) await file.writeFile(piece);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function layRecords({ folder, backup, home, progress }: Restore): Promise<void> {
  const { records, files } = backup.manifest;
  const own = await startOwnMemoryd(home);
  const refused: string[] = [];
  try {
    for (const pass of ['bring', 'look'] as const) {
      const batch = new ImportBatch(own.memory);
      for (const piece of records.pieces) {
        for (const line of (await folder.piece(piece)).toString('utf8').split('\n'))
          if (line !== '') await batch.add(line);
        if (pass === 'bring') progress.add(1);
      }
      await batch.send();
      // What is brought a second time is all there, or the first time did not bring it.
      const { stored, known } = batch.totals;
      if (pass === 'look' && (known !== records.count || stored > 0))
        throw damagedBackup(`the store has ${known} of the ${records.count} records that were to come back`);
    }
    for (const [file, piece] of Object.entries(files)) {
      const text = (await folder.piece(piece)).toString('utf8');
      await own.memory.call('import', { lines: [{ file, text }] }).catch((thrown: unknown) => {
        if (!(thrown instanceof AppError) || !thrown.code.startsWith('memory-')) throw thrown;
        refused.push(file);
      });
      progress.add(1);
    }
  } finally {
    await own.stop();
  }
  // What people wrote by hand may be what no request would be allowed to write: it comes back as it was.
  const owner = await ownerOf(home.memory);
  for (const file of refused) {
    const bytes = await folder.piece(files[file] ?? '');
    await layFile(join(home.memory, `${file}.md`), { owner, mode: 0o600 }, async function* () {
      yield bytes;
    });
  }
  await syncFolder(home.memory);
}

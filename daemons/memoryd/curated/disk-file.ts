/**
 * A curated file on the disk: read whole or not at all, replaced as a whole or not at all.
 *
 * The bits of the owner count even for root, whom the kernel lets pass: a person who took them away meant it.
 */
import { closeSync, constants, openSync, readFileSync, renameSync, statSync } from 'node:fs';
import { lstat, mkdir, open, readdir, realpath, stat, unlink, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../../../shared/errors.ts';
import type { Exchange } from './exchange.ts';

export interface Seen {
  readonly path: string;
  /** Where symbolic links lead: what is read, and what is replaced. */
  readonly realPath: string;
  /** Undefined where there is no file. */
  readonly bytes: Buffer | undefined;
  /** Device, inode, size and times. */
  readonly identity: string;
}

/** Far beyond any limit a person would set; it keeps a wrong file from filling the memory. */
const fileBytesMax = 4 * 1024 * 1024;
/** A file touched this recently may still be being written by an editor. */
const settleMs = 20;
const settleTriesMax = 8;
const readTriesMax = 5;
const ownerRead = 0o400;
const ownerWrite = 0o200;
const ownerEnter = 0o100;
const fileMode = 0o600;
const folderMode = 0o700;
const temporary = /^\.(?:memory|user)\.md\.[0-9a-z]{1,40}\.tmp$/;

/**
 * The file as it is, once it has settled: editors empty a file before they write it, or move it away first.
 * @param known what it held when it was last seen; the same again needs no wait
 * @throws AppError memory-unreadable
 */
export async function readSettled(path: string, known: Buffer | undefined): Promise<Seen> {
  for (let tries = 1; ; tries += 1) {
    const seen = await readOnce(path);
    const isKnown = known === undefined ? seen.bytes === undefined : seen.bytes?.equals(known) === true;
    if (isKnown || tries >= settleTriesMax || (await isSettled(seen, known))) return seen;
    await sleep(settleMs / 2);
  }
}

async function isSettled({ realPath, bytes }: Seen, known: Buffer | undefined): Promise<boolean> {
  if (bytes === undefined) return known === undefined;
  try {
    const ageMs = Date.now() - (await stat(realPath)).mtimeMs;
    return ageMs < 0 || ageMs >= settleMs;
  } catch {
    // It was moved away since: look again.
    return false;
  }
}

/** @throws AppError memory-unreadable */
export async function readOnce(path: string): Promise<Seen> {
  const realPath = await realPathOf(path);
  if (realPath === undefined) return { path, realPath: path, bytes: undefined, identity: 'missing' };
  let file: FileHandle;
  try {
    // Without waiting, so that a pipe in the place of the file does not hold us.
    file = await open(realPath, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return { path, realPath, bytes: undefined, identity: 'missing' };
    throw unreadable(path, error);
  }
  try {
    for (let tries = 1; ; tries += 1) {
      const before = await file.stat({ bigint: true });
      checkReadable(path, before);
      const bytes = await readWhole(file, Number(before.size));
      const identity = identityOf(await file.stat({ bigint: true }));
      if (identity === identityOf(before) || tries >= readTriesMax)
        return { path, realPath, bytes, identity };
    }
  } catch (error) {
    throw error instanceof AppError ? error : unreadable(path, error);
  } finally {
    await file.close();
  }
}

/** Whether the file is still what was seen, down to its bytes; synchronous, so that a rename can follow at once. */
export function isStill(seen: Seen): boolean {
  try {
    const identity = identityOf(statSync(seen.realPath, { bigint: true }));
    // File systems stamp times by the tick of a clock; two writes of one tick differ only in their bytes.
    return (
      seen.bytes !== undefined && identity === seen.identity && readNow(seen.realPath).equals(seen.bytes)
    );
  } catch (error) {
    return codeOf(error) === 'ENOENT' && seen.bytes === undefined;
  }
}

/**
 * The new content beside the file, on the disk, ready to take its place.
 * @throws AppError memory-unwritable or store-full; then nothing is left behind.
 */
export async function prepare(seen: Seen, bytes: Buffer): Promise<string> {
  const folder = dirname(seen.realPath);
  const suffix = `${process.pid.toString(36)}${process.hrtime.bigint().toString(36)}`;
  const temp = join(folder, `.${basename(seen.path)}.${suffix}.tmp`);
  try {
    await makeFolder(folder);
    await checkWritable(seen, folder);
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    const file = await open(temp, flags, fileMode);
    try {
      await file.chmod(fileMode);
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    return temp;
  } catch (error) {
    await discard(temp);
    throw error instanceof AppError ? error : unwritable(seen.path, error);
  }
}

/**
 * Puts the new content in the place of what was seen; false, and nothing done, when that is not there any more.
 * @param exchange where an editor is at work: what it saves in the very moment of the replacement is put back
 * @throws AppError memory-unwritable; then the file is as it was.
 */
export function replaceWith(temp: string, seen: Seen, exchange?: Exchange): boolean {
  if (!isStill(seen)) return false;
  try {
    if (seen.bytes === undefined || !exchange?.(temp, seen.realPath)) {
      renameSync(temp, seen.realPath);
      return true;
    }
    if (readNow(temp).equals(seen.bytes)) return true;
    // Somebody saved in between: theirs goes back, also where they have moved ours away since.
    if (!exchange(temp, seen.realPath)) renameSync(temp, seen.realPath);
    return false;
  } catch (error) {
    throw unwritable(seen.path, error);
  }
}

/** Until this is done a power cut may bring the old file back. */
export async function syncFolderOf({ path, realPath }: Seen): Promise<void> {
  try {
    await syncFolder(dirname(realPath));
  } catch (error) {
    throw unwritable(path, error);
  }
}

export async function discard(temp: string): Promise<void> {
  // Not there is as good; anything else is swept at the next start.
  await unlink(temp).catch(() => {});
}

/** Removes what a killed process left; an editor's own files beside ours are not touched. */
export async function sweepTemporary(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) if (temporary.test(name)) await discard(join(folder, name));
}

export async function makeFolder(folder: string): Promise<void> {
  const made = await mkdir(folder, { recursive: true, mode: folderMode });
  if (made !== undefined) await syncFolder(dirname(made));
}

async function realPathOf(path: string): Promise<string | undefined> {
  try {
    const folder = dirname(path);
    const { mode } = await stat(folder);
    if ((mode & ownerEnter) === 0) throw denied(folder, 'the folder may not be entered by its owner');
    return await realpath(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw unreadable(path, error);
    const link = await lstat(path).catch(() => undefined);
    // Between the two look-ups the file may have come.
    if (link?.isSymbolicLink()) throw unreadable(path, error);
    return link ? path : undefined;
  }
}

function checkReadable(path: string, { mode, size }: { mode: bigint; size: bigint }): void {
  const kind = Number(mode) & constants.S_IFMT;
  if (kind !== constants.S_IFREG) {
    throw new AppError(
      'memory-unreadable',
      `${path} is no file${kind === constants.S_IFDIR ? ' but a folder' : ''}`,
      {
        details: { path, reason: kind === constants.S_IFDIR ? 'EISDIR' : 'not-a-file' },
      },
    );
  }
  if ((Number(mode) & ownerRead) === 0) throw unreadable(path, denied(path, 'its owner may not read it'));
  if (Number(size) > fileBytesMax) {
    throw new AppError('memory-unreadable', `${path} has ${size} bytes, more than ${fileBytesMax}`, {
      details: { path, reason: 'too-large', bytes: Number(size), max: fileBytesMax },
    });
  }
}

async function checkWritable({ path, realPath }: Seen, folder: string): Promise<void> {
  if (((await stat(folder)).mode & ownerWrite) === 0)
    throw unwritable(path, denied(folder, 'the folder may not be written by its owner'));
  const file = await stat(realPath).catch(() => undefined);
  if (file && (file.mode & ownerWrite) === 0)
    throw unwritable(path, denied(path, 'its owner may not write it'));
}

async function readWhole(file: FileHandle, size: number): Promise<Buffer> {
  const bytes = Buffer.alloc(size);
  let read = 0;
  while (read < size) {
    const { bytesRead } = await file.read(bytes, read, size - read, read);
    if (bytesRead === 0) break;
    read += bytesRead;
  }
  return bytes.subarray(0, read);
}

function readNow(path: string): Buffer {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

interface Stats {
  readonly dev: bigint;
  readonly ino: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
}

function identityOf({ dev, ino, size, mtimeNs, ctimeNs }: Stats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(':');
}

function denied(path: string, message: string): Error {
  return Object.assign(new Error(`${path}: ${message}`), { code: 'EACCES' });
}

function unreadable(path: string, cause: unknown): AppError {
  if (cause instanceof AppError) return cause;
  return new AppError('memory-unreadable', `read ${path}: ${messageOf(cause)}`, {
    details: { path, reason: codeOf(cause) ?? 'unknown' },
    cause,
  });
}

function unwritable(path: string, cause: unknown): AppError {
  const reason = codeOf(cause) ?? 'unknown';
  const code = reason === 'ENOSPC' || reason === 'EDQUOT' ? 'store-full' : 'memory-unwritable';
  return new AppError(code, `write ${path}: ${messageOf(cause)}`, { details: { path, reason }, cause });
}

function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

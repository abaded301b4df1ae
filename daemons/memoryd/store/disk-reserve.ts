/** Keeps writes away from a disk that is nearly full, and a file to give up when it is full all the same. */
import { randomFillSync } from 'node:crypto';
import { statfsSync, statSync } from 'node:fs';
import { open, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Of a filesystem so small that the defaults would take too much of it. */
const floorShareMax = 0.05;
const reserveShareMax = 0.02;
const chunkBytes = 1024 * 1024;
/** How long an answer about free space is good for. */
const freshMs = 200;

export const minFreeBytesDefault = 64 * 1024 * 1024;
/** LevelDB writes up to its write buffer (16 MB) before it is open again. */
export const reserveBytesDefault = 16 * 1024 * 1024;

export interface DiskReserveOptions {
  readonly path: string;
  readonly minFreeBytes: number;
  readonly reserveBytes: number;
}

export class DiskReserve {
  readonly #path: string;
  readonly #options: DiskReserveOptions;
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #isTooFull = false;

  constructor(options: DiskReserveOptions) {
    this.#path = options.path;
    this.#options = options;
  }

  /** Below which free space writes are refused. */
  get floorBytes(): number {
    return Math.min(this.#options.minFreeBytes, this.#space().total * floorShareMax);
  }

  get freeBytes(): number {
    return this.#space().free;
  }

  /** Cheap enough to ask before every write. */
  isTooFull(): boolean {
    const nowMs = performance.now();
    if (nowMs - this.#askedAtMs < freshMs) return this.#isTooFull;
    this.#askedAtMs = nowMs;
    this.#isTooFull = this.freeBytes < this.floorBytes;
    return this.#isTooFull;
  }

  async release(): Promise<void> {
    await rm(this.#path, { force: true });
  }

  /** Lays the reserve in again, if that leaves the floor free. */
  async restore(): Promise<void> {
    const { free, total } = this.#space();
    const bytes = Math.floor(Math.min(this.#options.reserveBytes, total * reserveShareMax));
    const held = heldBytes(this.#path);
    if (held >= bytes || free - (bytes - held) < this.floorBytes) return;
    const file = await open(this.#path, 'w', 0o600);
    try {
      // Random, so that a filesystem which compresses or leaves out zeros really gives the space.
      const chunk = randomFillSync(Buffer.alloc(Math.min(chunkBytes, bytes)));
      for (let left = bytes; left > 0; left -= chunk.length) {
        await file.write(chunk, 0, Math.min(left, chunk.length));
      }
    } catch (error) {
      await this.release();
      throw error;
    } finally {
      await file.close();
    }
  }

  /** Whether anything can be written at all. @throws the error of the file system */
  async probe(): Promise<void> {
    const path = `${this.#path}.probe`;
    try {
      await writeFile(path, 'probe', { mode: 0o600, flush: true });
    } finally {
      await rm(path, { force: true });
    }
  }

  #space(): { free: number; total: number } {
    try {
      const { bavail, blocks, bsize } = statfsSync(dirname(this.#path));
      return { free: bavail * bsize, total: blocks * bsize };
    } catch {
      // No directory, no space; what keeps it from us, the next write will say.
      return { free: 0, total: 0 };
    }
  }
}

function heldBytes(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

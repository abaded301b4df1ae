/**
 * How far writes were acknowledged, kept beside the store: a store that knows less has lost its end.
 *
 * Two slots, written in turn and in place, so that one of them is always whole and no
 * write needs space:
 *
 *   mark 1 TURN SEQ OPERATIONS CRC-32\n      numbers of 16 digits, the checksum in hex
 *
 * The file is synced once a second at most, so after a power cut it may be too low by
 * what that second brought, and never too high.
 */
import { closeSync, constants, fsync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import { syncDirectory } from './store-files.ts';

/** A sector each: a torn write hits one of them. */
const slotBytes = 512;
const slots = 2;
const syncEveryMs = 1_000;
const slotForm = /^mark 1 (\d{16}) (\d{16}) (\d{16}) ([0-9a-f]{8})\n/;

export interface Mark {
  /** The store's own sequence number. */
  readonly seq: number;
  /** LevelDB's count of operations: what can be read from its logs without opening it. */
  readonly operations: number;
}

/** @returns undefined where there is none, or none that can be trusted. */
export function readMark(path: string): Mark | undefined {
  return latestSlot(path)?.mark;
}

export class HighWater {
  readonly #file: number;
  #turn: number;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  #isSyncing = false;

  private constructor(file: number, turn: number) {
    this.#file = file;
    this.#turn = turn;
  }

  /** Starts from `mark`, whatever the file said before. */
  static async open(path: string, mark: Mark): Promise<HighWater> {
    const turn = latestSlot(path)?.turn ?? 0;
    const file = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    const highWater = new HighWater(file, turn);
    try {
      // Both, so that the file has its full size and neither slot is from another store.
      for (let slot = 0; slot < slots; slot += 1) highWater.#write(mark);
      fsyncSync(file);
      await syncDirectory(dirname(path));
    } catch (error) {
      closeSync(file);
      throw error;
    }
    return highWater;
  }

  advance(mark: Mark): void {
    this.#write(mark);
    this.#timer ??= setTimeout(() => this.#sync(), syncEveryMs).unref();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#isClosed = true;
    try {
      fsyncSync(this.#file);
    } finally {
      if (!this.#isSyncing) closeSync(this.#file);
    }
  }

  #sync(): void {
    this.#isSyncing = true;
    this.#timer = undefined;
    // A failure leaves the mark too low after a power cut, which is what it may be.
    fsync(this.#file, () => {
      this.#isSyncing = false;
      if (this.#isClosed) closeSync(this.#file);
    });
  }

  #write({ seq, operations }: Mark): void {
    this.#turn += 1;
    const text = `mark 1 ${digits(this.#turn)} ${digits(seq)} ${digits(operations)} `;
    const line = `${text}${crcOf(text)}\n`.padEnd(slotBytes, ' ');
    writeSync(this.#file, line, (this.#turn % slots) * slotBytes, 'latin1');
  }
}

function latestSlot(path: string): { turn: number; mark: Mark } | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'latin1');
  } catch {
    return undefined;
  }
  let latest: { turn: number; mark: Mark } | undefined;
  for (let slot = 0; slot < slots; slot += 1) {
    const found = slotForm.exec(text.slice(slot * slotBytes, (slot + 1) * slotBytes));
    if (found === null || crcOf(found[0].slice(0, -9)) !== found[4]) continue;
    const [turn, seq, operations] = found.slice(1, 4).map(Number) as [number, number, number];
    if (latest === undefined || turn > latest.turn) latest = { turn, mark: { seq, operations } };
  }
  return latest;
}

function digits(value: number): string {
  return String(value).padStart(16, '0');
}

function crcOf(text: string): string {
  return crc32(text).toString(16).padStart(8, '0');
}

/** Reads a backup whole: every digest, every record line, every line of every session log, both curated files. */
import { isUtf8 } from 'node:buffer';
import { AppError } from '../../shared/errors.ts';
import { isSessionId } from '../../shared/protocol/sessions.ts';
import { damagedBackup, type Backup, type BackupFolder } from './backup-folder.ts';
import type { Progress } from './progress.ts';

/** More say nothing new. */
const faultsMax = 100;
const lineFeed = 0x0a;

export interface BackupVerdict {
  readonly name: string;
  readonly records: number;
  readonly sessions: number;
  readonly files: number;
  readonly pieces: number;
  readonly faults: readonly string[];
}

export async function verifyBackup(
  folder: BackupFolder,
  { name, manifest }: Backup,
  progress: Progress,
): Promise<BackupVerdict> {
  const faults: string[] = [];
  let pieces = 0;
  const look = async (about: string, work: () => Promise<void>) => {
    try {
      await work();
    } catch (thrown) {
      if (!(thrown instanceof AppError)) throw thrown;
      if (faults.length < faultsMax) faults.push(`${about}: ${thrown.message}`);
    }
  };
  const read = async (piece: string) => {
    const bytes = await folder.piece(piece);
    pieces += 1;
    progress.add(1);
    return bytes;
  };
  let records = 0;
  let last = '';
  for (const piece of manifest.records.pieces) {
    await look('records', async () => {
      for (const line of textOf(await read(piece))
        .trimEnd()
        .split('\n')) {
        const { record } = recordOf(line);
        if (record <= last) throw damagedBackup(`${record} stands behind ${last}`);
        last = record;
        records += 1;
      }
    });
  }
  if (faults.length === 0 && records !== manifest.records.count)
    faults.push(`records: there are ${records}, and ${manifest.records.count} were written`);
  for (const [file, piece] of Object.entries(manifest.files))
    await look(`${file}.md`, async () => void textOf(await read(piece)));
  for (const [id, names] of Object.entries(manifest.sessions))
    await look(`session ${id}`, async () => {
      if (!isSessionId(id)) throw damagedBackup('that is no id of a session');
      const log = new LogCheck();
      for (const piece of names) log.push(await read(piece));
    });
  const counts = {
    sessions: Object.keys(manifest.sessions).length,
    files: Object.keys(manifest.files).length,
  };
  return { name, records, ...counts, pieces, faults };
}

function textOf(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw damagedBackup('it is not UTF-8');
  return bytes.toString('utf8');
}

/** @throws AppError store-damaged */
export function recordOf(line: string): { record: string; seq: number; value: unknown } {
  try {
    const { record, seq, value } = JSON.parse(line) as { record: unknown; seq: unknown; value: unknown };
    if (typeof record === 'string' && typeof seq === 'number' && typeof value === 'object')
      return { record, seq, value };
  } catch {
    // Told below.
  }
  throw damagedBackup(`a line is no record: ${line.slice(0, 80)}`);
}

/** Lines of one log over its pieces; a last line without an end is one that was being written. */
class LogCheck {
  #tail: Buffer[] = [];
  #seq = 0;

  push(bytes: Buffer): void {
    let start = 0;
    for (let end = bytes.indexOf(lineFeed); end !== -1; end = bytes.indexOf(lineFeed, start)) {
      this.#check(Buffer.concat([...this.#tail, bytes.subarray(start, end)]));
      this.#tail = [];
      start = end + 1;
    }
    if (start < bytes.length) this.#tail.push(Buffer.from(bytes.subarray(start)));
  }

  #check(line: Buffer): void {
    try {
      const { seq, type } = JSON.parse(textOf(line)) as { seq: unknown; type: unknown };
      if (seq === this.#seq && typeof type === 'string') {
        this.#seq += 1;
        return;
      }
    } catch {
      // Told below.
    }
    throw damagedBackup(`record ${this.#seq} of the log cannot be read`);
  }
}

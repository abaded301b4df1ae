/** Takes out of a damaged store what its own checksums prove, into a new one; the damaged one is only read. */
import { spawn } from 'node:child_process';
import { copyFile, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { AppError } from '../../../shared/errors.ts';
import { checkStore } from './check/store-check.ts';
import { checkTables } from './check/tables-check.ts';
import { createStore } from './create-store.ts';
import type { Engine, Operation } from './engine.ts';
import { unseal } from './envelope.ts';
import { readMark } from './high-water.ts';
import { openLevel } from './level-engine.ts';
import { lockHolderOf } from './lock-holder.ts';
import { reasonOf } from './store-errors.ts';
import { storeFilesOf } from './store-files.ts';
import { metaPrefix, sequenceOperation } from './store-meta.ts';

/** More keys are counted, not named. */
const keysMax = 1_000;
const batchRecordsMax = 1_000;
const repairMsMax = 60 * 60 * 1_000;
const stderrCharsMax = 2_000;

/** In a process of its own: damage can end it by an assertion of LevelDB. */
const repairProgram = `
  const { ClassicLevel } = require(process.argv[1]);
  ClassicLevel.repair(process.argv[2]).catch((error) => {
    console.error((error.cause ?? error).message);
    process.exitCode = 1;
  });`;

export interface SalvageReport {
  readonly recovered: number;
  /** Records whose bytes are not what was written; they are not in the new store. */
  readonly damaged: number;
  readonly damagedKeys: readonly string[];
  /** The highest sequence number of a recovered record, and the one up to which writes were acknowledged. */
  readonly sequenceMax: number;
  readonly acknowledgedThrough: number | undefined;
  /** What was found to be wrong with the damaged store, and with reading what was repaired. */
  readonly findings: readonly string[];
}

/**
 * LevelDB's repair rebuilds the store from every table and log that it finds, deleted and
 * replaced versions included where what hid them is lost; it accepts damaged records,
 * too. So it works on a copy, and only what an envelope proves goes on. A record that
 * was deleted not long before the damage may come back.
 * @throws AppError store-locked where the damaged store is in use; store-damaged where nothing can be read from it
 */
export async function salvage({ from, to }: { from: string; to: string }): Promise<SalvageReport> {
  const damaged = storeFilesOf(resolve(from));
  const fresh = storeFilesOf(resolve(to));
  await refuse(damaged.dir, fresh.dir);
  const copy = `${fresh.dir}.copy-${process.pid}`;
  try {
    const report = await checkStore(damaged.dir);
    const findings = [...report.damage, ...(await checkTables({ tables: report.tables, isOpen: false }))];
    findings.push(...report.defects.map(({ file, reason }) => `${file}: ${reason}`));
    await copyStore(damaged.dir, copy);
    await repair(copy);
    const acknowledgedThrough = readMark(damaged.highWater)?.seq;
    await createStore(fresh);
    const found = await takeOver(copy, { to: fresh.dir, seqAtLeast: acknowledgedThrough ?? 0 }).catch(
      async (error: unknown) => {
        // Half of it would pass for a store.
        for (const path of [fresh.dir, fresh.marker]) await rm(path, { recursive: true, force: true });
        throw error;
      },
    );
    return { ...found, acknowledgedThrough, findings: [...findings, ...found.findings] };
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

async function refuse(from: string, to: string): Promise<void> {
  const pid = await lockHolderOf(storeFilesOf(from));
  if (pid !== undefined) {
    throw new AppError('store-locked', `salvage ${from}: process ${pid} has it open`, { details: { pid } });
  }
  if (await stat(to).catch(() => undefined)) {
    throw new AppError('rejected', `salvage into ${to}: that exists already`, { details: { path: to } });
  }
}

/** LOCK stays: reading it in the process that holds it would drop the lock. */
async function copyStore(from: string, to: string): Promise<void> {
  await rm(to, { recursive: true, force: true });
  await mkdir(to, { recursive: true, mode: 0o700 });
  for (const name of await readdir(from)) {
    if (/^(CURRENT|MANIFEST-\d+|\d+\.(log|ldb|sst))$/.test(name))
      await copyFile(join(from, name), join(to, name));
  }
}

async function repair(dir: string): Promise<void> {
  const library = createRequire(import.meta.url).resolve('classic-level');
  const child = spawn(process.execPath, ['-e', repairProgram, library, dir], {
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: repairMsMax,
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(0, stderrCharsMax);
  });
  const status = await new Promise<number | string>((ended, failed) => {
    child.once('error', failed);
    child.once('close', (code, signal) => ended(code ?? signal ?? 'unknown'));
  });
  if (status === 0) return;
  throw new AppError('store-damaged', `repair the copy ${dir}: it ended with ${status}: ${said.trim()}`);
}

type TakenOver = Omit<SalvageReport, 'acknowledgedThrough'>;

async function takeOver(
  copy: string,
  { to, seqAtLeast }: { to: string; seqAtLeast: number },
): Promise<TakenOver> {
  const source = await openLevel({ dir: copy, encoding: 'text', createIfMissing: false });
  try {
    const target = await openLevel({ dir: to, encoding: 'text', createIfMissing: false });
    try {
      const found = await copyProven(source, target);
      // No number is given out again, though its record may be lost.
      const last = Math.max(found.sequenceMax, seqAtLeast, storedSequence(source));
      await target.write([sequenceOperation(last)], { sync: true });
      await target.flush();
      return found;
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

async function copyProven(source: Engine<string>, target: Engine<string>): Promise<TakenOver> {
  const found = {
    recovered: 0,
    damaged: 0,
    damagedKeys: [] as string[],
    sequenceMax: 0,
    findings: [] as string[],
  };
  try {
    for await (const page of source.range({})) {
      const proven: Operation<string>[] = [];
      for (const [key, value] of page) {
        if (key.startsWith(metaPrefix)) continue;
        const content = unseal(key, value);
        if (content === undefined) {
          found.damaged += 1;
          if (found.damagedKeys.length < keysMax) found.damagedKeys.push(key);
          continue;
        }
        found.sequenceMax = Math.max(found.sequenceMax, content.seq);
        proven.push({ type: 'put', key, value });
      }
      for (let i = 0; i < proven.length; i += batchRecordsMax) {
        await target.write(proven.slice(i, i + batchRecordsMax), { sync: false });
      }
      found.recovered += proven.length;
    }
  } catch (error) {
    // LevelDB passed over blocks that it could not read, and says so at the end.
    found.findings.push(`the copy could not be read whole: ${reasonOf(error)}`);
  }
  return found;
}

function storedSequence(source: Engine<string>): number {
  try {
    const { key } = sequenceOperation(0);
    const value = source.get(key);
    return value === undefined ? 0 : (unseal(key, value)?.seq ?? 0);
  } catch {
    return 0;
  }
}

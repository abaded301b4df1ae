/**
 * Reads a LevelDB directory without opening it and finds what LevelDB itself never reports.
 *
 * It only reads, and never the file LOCK: closing a descriptor of that drops the lock
 * of whoever holds it in this process.
 */
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Defect, readLog } from './log-format.ts';
import { type Manifest, replayManifest } from './manifest.ts';

/** Sequence (8) and count (4) of a batch, in front of its operations. */
const batchHeaderBytes = 12;

export interface LogDefect {
  readonly file: string;
  /** Bytes that LevelDB would pass over without a word. */
  readonly bytes: number;
  readonly reason: string;
  readonly kind: Defect['kind'];
}

export interface StoreReport {
  /** There is no store here, and nothing that one would leave behind. */
  readonly isEmpty: boolean;
  /** Whatever no crash can explain. */
  readonly damage: readonly string[];
  /** What a crash can explain, if nothing that was promised lies behind it: see `verdictOf`. */
  readonly defects: readonly LogDefect[];
  /** LevelDB's count of operations up to which everything can be read. */
  readonly intactThrough: number;
  readonly tables: readonly { path: string; size: number }[];
  readonly bytes: number;
}

/** A report while it is made. */
class Findings {
  readonly damage: string[] = [];
  readonly defects: LogDefect[] = [];
  readonly tables: { path: string; size: number }[] = [];
  intactThrough = 0;
  bytes = 0;

  report(isEmpty = false): StoreReport {
    const { damage, defects, tables, intactThrough, bytes } = this;
    return { isEmpty, damage, defects, tables, intactThrough, bytes };
  }
}

/** CURRENT, MANIFEST and logs byte for byte; of the tables only that they are there and long enough. */
export async function checkStore(dir: string): Promise<StoreReport> {
  const findings = new Findings();
  let names: string[];
  try {
    names = await readdir(dir);
  } catch (error) {
    findings.damage.push(`${dir}: ${reasonOf(error)}`);
    return findings.report();
  }
  if (!names.includes('CURRENT')) {
    const isEmpty = !names.some((name) => /^\d+\.(ldb|sst|log)$|^MANIFEST-/.test(name));
    if (!isEmpty) findings.damage.push('CURRENT is missing, but there is data');
    return findings.report(isEmpty);
  }
  const manifest = await checkManifest(dir, findings);
  if (manifest === undefined) return findings.report();
  findings.intactThrough = manifest.sequence;
  await checkLogs(dir, { names, manifest, findings });
  await checkTableSizes(dir, { names, manifest, findings });
  return findings.report();
}

/**
 * Whether a store may be opened. What was acknowledged is known from the high-water
 * mark, in LevelDB's own count: a defect behind it is what a crash left of writes that
 * nobody was promised, one before it is damage. After a clean stop there are none.
 */
export function verdictOf(
  report: StoreReport,
  { promisedThrough, wasCleanStop }: { promisedThrough: number | undefined; wasCleanStop: boolean },
): string[] {
  const reasons = [...report.damage];
  for (const { file, bytes, reason, kind } of report.defects) {
    const isExplained =
      !wasCleanStop &&
      (promisedThrough === undefined ? kind === 'tail' : promisedThrough <= report.intactThrough);
    if (!isExplained) reasons.push(`${file}: ${reason}, ${bytes} bytes before its end`);
  }
  if (promisedThrough !== undefined && report.damage.length === 0 && report.intactThrough < promisedThrough) {
    const lost = promisedThrough - report.intactThrough;
    reasons.push(`the last ${lost} of ${promisedThrough} acknowledged operations are missing`);
  }
  return reasons;
}

async function checkManifest(dir: string, findings: Findings): Promise<Manifest | undefined> {
  try {
    const current = await readFile(join(dir, 'CURRENT'), 'latin1');
    if (!/^MANIFEST-\d+\n$/.test(current)) {
      findings.damage.push('CURRENT does not name a MANIFEST');
      return undefined;
    }
    const name = current.trimEnd();
    const bytes = await readFile(join(dir, name));
    findings.bytes += bytes.length;
    const { records, defect } = readLog(bytes);
    if (defect !== undefined) {
      const { kind, isCut, reason } = defect;
      // LevelDB syncs each edit before it relies on it, so a cut edit is one that never counted.
      if (kind === 'tail' && isCut) findings.defects.push({ file: name, bytes: defect.bytes, reason, kind });
      else findings.damage.push(`${name}: ${reason} at ${defect.at}`);
    }
    const manifest = replayManifest(records);
    if (manifest.nextFile > 0) return manifest;
    findings.damage.push(`${name} holds no state`);
  } catch (error) {
    findings.damage.push(`MANIFEST: ${reasonOf(error)}`);
  }
  return undefined;
}

interface Scope {
  readonly names: readonly string[];
  readonly manifest: Manifest;
  readonly findings: Findings;
}

/** The logs that LevelDB would replay, in their order, as one chain of sequence numbers. */
async function checkLogs(dir: string, { names, manifest, findings }: Scope): Promise<void> {
  const logs = names
    .filter((name) => /^\d+\.log$/.test(name))
    .map((name) => ({ name, number: Number.parseInt(name, 10) }))
    .filter(({ number }) => number >= manifest.log || number === manifest.previousLog)
    .toSorted((a, b) => a.number - b.number);
  if (manifest.log > 0 && !logs.some(({ number }) => number === manifest.log)) {
    findings.damage.push(`log ${manifest.log}, named by MANIFEST, is missing`);
  }
  const chain = new SequenceChain(findings);
  for (const { name } of logs) {
    try {
      const bytes = await readFile(join(dir, name));
      findings.bytes += bytes.length;
      chain.addLog(name, bytes);
    } catch (error) {
      findings.damage.push(`${name}: ${reasonOf(error)}`);
      return;
    }
  }
}

class SequenceChain {
  readonly #findings: Findings;
  /** The number that the next batch must start with; unknown before the first one. */
  #next: number | undefined;
  #isWhole = true;

  constructor(findings: Findings) {
    this.#findings = findings;
  }

  addLog(file: string, bytes: Buffer): void {
    const { records, defect } = readLog(bytes);
    for (const record of records) {
      const reason = this.#add(record);
      if (reason !== undefined) this.#broken({ file, bytes: bytes.length, reason, kind: 'middle' });
    }
    if (defect !== undefined) {
      this.#broken({ file, bytes: defect.bytes, reason: defect.reason, kind: defect.kind });
    }
  }

  #broken(defect: LogDefect): void {
    this.#isWhole = false;
    this.#findings.defects.push(defect);
  }

  #add(record: Buffer): string | undefined {
    if (record.length < batchHeaderBytes) return 'a record too short for a batch';
    const findings = this.#findings;
    const sequence = Number(record.readBigUInt64LE(0));
    const isNext =
      this.#next === undefined ? sequence <= findings.intactThrough + 1 : sequence === this.#next;
    const expected = this.#next ?? `at most ${findings.intactThrough + 1}`;
    this.#next = sequence + record.readUInt32LE(8);
    if (!isNext) return `operation ${sequence} where ${expected} is due`;
    // Behind a defect nothing counts as intact, whatever can still be read there.
    if (this.#isWhole) findings.intactThrough = this.#next - 1;
    return undefined;
  }
}

async function checkTableSizes(dir: string, { names, manifest, findings }: Scope): Promise<void> {
  const tables = new Map(
    names.filter((name) => /^\d+\.(ldb|sst)$/.test(name)).map((name) => [Number.parseInt(name, 10), name]),
  );
  for (const [number, size] of manifest.tables) {
    const name = tables.get(number);
    if (name === undefined) {
      findings.damage.push(`table ${number}, named by MANIFEST, is missing`);
      continue;
    }
    const path = join(dir, name);
    try {
      const found = await stat(path);
      if (!found.isFile()) findings.damage.push(`${name} is not a file`);
      else if (found.size < size) findings.damage.push(`${name}: ${found.size} bytes instead of ${size}`);
      else findings.tables.push({ path, size });
      findings.bytes += found.size;
    } catch (error) {
      findings.damage.push(`${name}: ${reasonOf(error)}`);
    }
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

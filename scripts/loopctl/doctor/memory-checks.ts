/** Checks of what is remembered: the store, the index, the curated files, the session logs. */
import { isUtf8 } from 'node:buffer';
import { createReadStream, existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorKinds, type ErrorCode } from '../../../shared/errors.ts';
import { curatedFiles, type StatusReply } from '../../../shared/protocol/replies.ts';
import { isSessionId, sessionLogSuffix } from '../../../shared/protocol/sessions.ts';
import { LineSplitter } from '../../../shared/wire.ts';
import { isAway } from '../daemon-status.ts';
import { memorydChore } from '../own-memoryd.ts';
import { fault, ok, unseen, type Finding, type Patient } from './finding.ts';

/** loopd writes no longer line. */
const logLineBytesMax = 64 * 1024 * 1024;
const storeCodes: Readonly<Record<string, ErrorCode>> = {
  newer: 'store-newer',
  recovering: 'store-write-failed',
};

export async function checkStoreState({ home, memoryd }: Patient): Promise<Finding[]> {
  if (isAway(memoryd)) return await checkStoreFiles({ home });
  const { state, reasons, wasCleanStop } = memoryd.store as {
    state: string;
    reasons?: string[];
    wasCleanStop?: boolean;
  };
  const stop = ok(
    'last stop',
    wasCleanStop === false ? 'no clean one: every table was checked at the start' : 'clean',
  );
  if (state === 'ready') return [ok('store', 'ready'), stop];
  const mend = state === 'damaged' ? 'loopctl restore --salvage --dry-run' : 'loopctl explain it';
  return [
    fault('store', storeCodes[state] ?? 'store-damaged', [
      `${state}: ${reasons?.[0] ?? 'no reason is known'}`,
      mend,
    ]),
  ];
}

/** The files are read by a memoryd that opens nothing. */
async function checkStoreFiles({ home }: Pick<Patient, 'home'>): Promise<Finding[]> {
  if (!existsSync(home.store)) return [ok('store', 'none yet')];
  try {
    const found = await memorydChore<{
      state: string;
      reasons: string[];
      was_clean_stop: boolean;
      holder?: number;
    }>('check-store', home);
    const stop = ok(
      'last stop',
      found.was_clean_stop || found.state === 'none'
        ? 'clean'
        : 'not a clean one: the next start checks every table',
    );
    if (found.state === 'damaged')
      return [
        fault('store', 'store-damaged', [found.reasons[0] ?? '', 'loopctl restore --salvage --dry-run']),
        stop,
      ];
    if (found.state === 'locked')
      return [
        fault('store', 'store-locked', [
          `process ${found.holder} has it open`,
          'loopctl explain store-locked',
        ]),
      ];
    return [ok('store', found.state === 'none' ? 'none yet' : 'its files are whole'), stop];
  } catch (thrown) {
    return [unseen('store', thrown)];
  }
}

export function checkIndex({ memoryd }: Patient): Finding[] {
  if (isAway(memoryd)) return [];
  const { index, sessions, jobs } = memoryd;
  const findings =
    index.state === 'damaged'
      ? [
          fault('index', 'memory-index-damaged', [
            'damaged; it is being built anew',
            'wait, then: loopctl verify',
          ]),
        ]
      : [ok('index', `${index.state}, ${index.behind} behind`)];
  if (sessions.missing.length > 0)
    findings.push(
      fault('index logs', 'session-unknown', [
        `${sessions.missing.length} logs are indexed and not in the folder: ${sessions.missing.slice(0, 5).join(' ')}`,
        'is the folder mounted? what was deleted on purpose: loopctl forget --session ID',
      ]),
    );
  for (const [name, { last_failure: failed, last_success: done }] of Object.entries(jobs)) {
    if (failed !== undefined && (done === undefined || failed > done))
      findings.push(
        fault(`job ${name}`, 'internal', [
          `it failed at ${failed} and has not succeeded since`,
          'journalctl -u memoryd',
        ]),
      );
  }
  return findings;
}

export async function checkCurated({ home, memoryd }: Patient): Promise<Finding[]> {
  if (!isAway(memoryd)) return curatedFiles.map((file) => curatedFinding(file, memoryd.memory[file]));
  const findings: Finding[] = [];
  for (const file of curatedFiles) {
    const what = `${file}.md`;
    try {
      const bytes = await readFile(join(home.memory, what));
      findings.push(
        isUtf8(bytes)
          ? ok(what, `${bytes.length} bytes`)
          : fault(what, 'memory-unreadable', ['it is not UTF-8', 'loopctl explain memory-unreadable']),
      );
    } catch (thrown) {
      const isMissing = (thrown as NodeJS.ErrnoException).code === 'ENOENT';
      findings.push(isMissing ? ok(what, 'not made yet') : unseen(what, thrown));
    }
  }
  return findings;
}

function curatedFinding(file: string, status: StatusReply['memory']['memory']): Finding {
  const what = `${file}.md`;
  const { used, limit, state, message } = status;
  const usage = `${used} of ${limit} characters`;
  if (state === 'ok') return ok(what, usage);
  if (state === 'over-limit')
    return fault(what, 'memory-full', [
      `${usage}: over its limit by hand`,
      `loopctl memory view --file ${file}, then shorten it`,
    ]);
  if (state === 'breaches' || state === 'no-entries')
    return fault(what, 'memory-refused', [
      state === 'breaches'
        ? 'an entry holds what no request may write'
        : 'there is text in it, and no entry: an entry begins with "- "',
      `loopctl memory view --file ${file}`,
    ]);
  const code = Object.hasOwn(errorKinds, state) ? (state as ErrorCode) : 'memory-unreadable';
  return fault(what, code, [typeof message === 'string' ? message : state, `loopctl explain ${code}`]);
}

export async function checkLogs({ home }: Patient): Promise<Finding[]> {
  let names: string[];
  try {
    names = (await readdir(home.sessions)).filter((name) => name.endsWith(sessionLogSuffix));
  } catch (thrown) {
    const isMissing = (thrown as NodeJS.ErrnoException).code === 'ENOENT';
    return [isMissing ? ok('session logs', 'none yet') : unseen('session logs', thrown)];
  }
  const findings: Finding[] = [];
  let torn = 0;
  for (const name of names.toSorted()) {
    const id = name.slice(0, -sessionLogSuffix.length);
    if (!isSessionId(id)) continue;
    const found = await lookAtLog(join(home.sessions, name)).catch((thrown: unknown) =>
      unseen(`log ${id}`, thrown),
    );
    if (found === 'torn') torn += 1;
    else if (typeof found === 'object') findings.push(found);
    else if (typeof found === 'number')
      findings.push(
        fault(`log ${id}`, 'session-damaged', [
          `record ${found} cannot be read`,
          'loopctl explain session-damaged',
        ]),
      );
  }
  const told =
    torn === 0 ? '' : `, ${torn} with a last line that is not ended: loopd mends it when it opens them`;
  return [
    ...findings,
    ok('session logs', `${names.length - findings.length} of ${names.length} whole${told}`),
  ];
}

/** @returns the number of the first record that is damaged; `torn` where only the end is not whole */
async function lookAtLog(path: string): Promise<number | 'torn' | undefined> {
  const splitter = new LineSplitter(logLineBytesMax);
  let seq = 0;
  for await (const chunk of createReadStream(path)) {
    for (const line of splitter.push(chunk as Buffer)) {
      if (!isRecord(line, seq)) return seq;
      seq += 1;
    }
    if (splitter.isOver) return seq;
  }
  return splitter.end().length > 0 ? 'torn' : undefined;
}

function isRecord(line: string | undefined, seq: number): boolean {
  try {
    const record = JSON.parse(line ?? '') as { seq?: unknown; type?: unknown } | null;
    return record?.seq === seq && typeof record.type === 'string' && (seq > 0 || record.type === 'session');
  } catch {
    return false;
  }
}

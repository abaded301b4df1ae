/** Operator-visible failures as journal entries of their own, which `journalctl -x` explains. */
import { createHash } from 'node:crypto';
import { fstatSync } from 'node:fs';
import { openDatagram } from './datagram.ts';
import type { ErrorCode } from './errors.ts';

export interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
  /** As syslog counts: 3 is an error. */
  readonly priority?: number;
  readonly session?: string;
}

export interface Journal {
  /** Whether the journal took it; otherwise it belongs into the log on standard output. */
  fail(failure: Failure): boolean;
}

const journalSocket = '/run/systemd/journal/socket';
/** Far below what the kernel sends in one datagram. */
const fieldBytesMax = 32 * 1024;
const errorPriority = 3;
const messageIdChars = 32;
const lengthBytes = 8;
const stderrFd = 2;

/**
 * A journal for a daemon whose stderr goes to it; elsewhere, and without koffi, undefined.
 * The failure carries RUNBOOK, so `journalctl RUNBOOK=store-locked` finds it, and MESSAGE_ID, by which the
 * installed catalogue knows the entry's meaning.
 */
export async function openJournal(
  identifier: string,
  { env = process.env, address = journalSocket, open = openDatagram } = {},
): Promise<Journal | undefined> {
  if (!isJournal(env['JOURNAL_STREAM'])) return undefined;
  try {
    const send = await open();
    return { fail: (failure) => send(address, entryOf(identifier, failure)) === 0 };
  } catch {
    return undefined;
  }
}

/** What systemd's catalogue knows a code by: 128 bits, the same in every version. */
export function messageIdOf(code: ErrorCode): string {
  return createHash('sha256').update(`loopkeep:${code}`).digest('hex').slice(0, messageIdChars);
}

/** JOURNAL_STREAM names the stream that systemd made; a stderr that was redirected since is another. */
function isJournal(stream: string | undefined): boolean {
  if (!stream) return false;
  const { dev, ino } = fstatSync(stderrFd);
  return stream === `${dev}:${ino}`;
}

function entryOf(identifier: string, { code, message, priority = errorPriority, session }: Failure): Buffer {
  return Buffer.concat([
    field('MESSAGE', message),
    field('MESSAGE_ID', messageIdOf(code)),
    field('PRIORITY', String(priority)),
    field('SYSLOG_IDENTIFIER', identifier),
    field('RUNBOOK', code),
    session === undefined ? Buffer.alloc(0) : field('SESSION', session),
  ]);
}

/** The journal's native form: a name, a length and bytes, so that a value may hold newlines. */
function field(name: string, value: string): Buffer {
  const bytes = Buffer.from(value, 'utf8').subarray(0, fieldBytesMax);
  const length = Buffer.alloc(lengthBytes);
  length.writeBigUInt64LE(BigInt(bytes.length));
  return Buffer.concat([Buffer.from(`${name}\n`), length, bytes, Buffer.from('\n')]);
}

/** The log: one line of JSON per event on standard output; under systemd each line carries its priority. */
import { pino, type Logger } from 'pino';
import { errorKinds, type ErrorCode } from './errors.ts';
import type { Journal } from './journal.ts';

export type Log = Logger;

/** Priorities of syslog by pino's levels: fatal, error, warn, info, debug, trace. */
const priorities: Readonly<Record<number, number>> = { 60: 2, 50: 3, 40: 4, 30: 6, 20: 7, 10: 7 };

/** What operators must see names its runbook entry; the journal gets it with that as a field to search by. */
const runbookField = '"RUNBOOK":"';

export function createLog(name: string, level: string, journal?: Journal): Log {
  const options = { name, level, base: { name, pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime };
  if (process.env['JOURNAL_STREAM'] === undefined)
    return pino(options, pino.destination({ fd: 1, sync: true }));
  const stream = {
    [Symbol.for('pino.metadata')]: true,
    lastLevel: 30,
    write(line: string) {
      const priority = priorities[this.lastLevel] ?? 6;
      if (journal !== undefined && line.includes(runbookField) && sendFailure(journal, line, priority))
        return;
      process.stdout.write(`<${priority}>${line}`);
    },
  };
  return pino(options, stream);
}

function sendFailure(journal: Journal, line: string, priority: number): boolean {
  const { RUNBOOK: code, session } = JSON.parse(line) as Record<string, unknown>;
  return (
    typeof code === 'string' &&
    Object.hasOwn(errorKinds, code) &&
    journal.fail({
      code: code as ErrorCode,
      message: line.trimEnd(),
      priority,
      ...(typeof session === 'string' ? { session } : {}),
    })
  );
}

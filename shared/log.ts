/** The log: one line of JSON per event on standard output; under systemd each line carries its priority. */
import { pino, type Logger } from 'pino';

export type Log = Logger;

/** Priorities of syslog by pino's levels: fatal, error, warn, info, debug, trace. */
const priorities: Readonly<Record<number, number>> = { 60: 2, 50: 3, 40: 4, 30: 6, 20: 7, 10: 7 };

export function createLog(name: string, level: string): Log {
  const options = { name, level, base: { name, pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime };
  if (process.env['JOURNAL_STREAM'] === undefined)
    return pino(options, pino.destination({ fd: 1, sync: true }));
  const journal = {
    [Symbol.for('pino.metadata')]: true,
    lastLevel: 30,
    write(line: string) {
      process.stdout.write(`<${priorities[this.lastLevel] ?? 6}>${line}`);
    },
  };
  return pino(options, journal);
}

/** What a daemon tells the systemd that started it: ready, its state in words, alive, stopping. */
import { setTimeout as sleep } from 'node:timers/promises';
import { openDatagram, type SendDatagram, tryAgainErrno } from './datagram.ts';
import { AppError } from './errors.ts';

export interface Notifier {
  /** The unit counts as started from here on. */
  ready(status?: string): Promise<void>;
  /** The line that `systemctl status` shows. */
  status(text: string): Promise<void>;
  /**
   * Says "alive" twice in each watchdog period, from the event loop and only while `isHealthy` says so:
   * a loop that is stuck falls silent by itself. Does nothing where the unit has no WatchdogSec.
   */
  startWatchdog(isHealthy: () => boolean): void;
  stopping(status?: string): Promise<void>;
}

/** systemd reads its queue within milliseconds; a full one is tried again for two seconds in all. */
const retriesMax = 40;
const retryMs = 50;
const statusCharsMax = 300;
const microsecondsPerMs = 1000;

const silent: Notifier = {
  ready: async () => {},
  status: async () => {},
  startWatchdog: () => {},
  stopping: async () => {},
};

/**
 * A notifier for NOTIFY_SOCKET, or one that does nothing where no systemd listens.
 *
 * @throws AppError notify-unavailable when systemd listens and koffi is missing: the start would otherwise
 * hang until systemd gives up on it.
 */
export async function createNotifier(env: NodeJS.ProcessEnv, open = openDatagram): Promise<Notifier> {
  const address = env['NOTIFY_SOCKET'];
  if (!address) return silent;
  const send = sender(address, await open());
  return {
    ready: (status = 'ready') => send(`READY=1\n${statusLine(status)}`, 'must arrive'),
    status: (text) => send(statusLine(text)),
    startWatchdog: (isHealthy) =>
      startWatchdog(watchdogMs(env), () => isHealthy() && void send('WATCHDOG=1')),
    stopping: (status = 'stopping') => send(`STOPPING=1\n${statusLine(status)}`),
  };
}

function sender(address: string, send: SendDatagram) {
  return async (message: string, need: 'must arrive' | 'best effort' = 'best effort') => {
    const bytes = Buffer.from(message, 'utf8');
    let errno = send(address, bytes);
    for (let retry = 0; errno === tryAgainErrno && retry < retriesMax; retry += 1) {
      await sleep(retryMs);
      errno = send(address, bytes);
    }
    if (errno !== 0 && need === 'must arrive') {
      throw new AppError('notify-unavailable', `cannot notify systemd at ${address}: errno ${errno}`, {
        details: { address, errno },
      });
    }
  };
}

/** A newline would start another assignment. */
function statusLine(text: string): string {
  return `STATUS=${text.replaceAll(/\s+/gu, ' ').slice(0, statusCharsMax)}`;
}

/** The watchdog period, or undefined where there is none or it is another process's. */
function watchdogMs(env: NodeJS.ProcessEnv): number | undefined {
  const pid = env['WATCHDOG_PID'];
  if (pid && pid !== String(process.pid)) return undefined;
  const microseconds = Number(env['WATCHDOG_USEC'] ?? 0);
  return Number.isSafeInteger(microseconds) && microseconds > 0
    ? microseconds / microsecondsPerMs
    : undefined;
}

function startWatchdog(periodMs: number | undefined, ping: () => void): void {
  if (periodMs === undefined) return;
  ping();
  // Unref: the watchdog must not keep a daemon alive that has nothing left to do.
  setInterval(ping, periodMs / 2).unref();
}

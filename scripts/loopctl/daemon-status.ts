/** What both daemons say of themselves, asked by the commands that look after them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError, toAppError } from '../../shared/errors.ts';
import type { CommandContext } from './command.ts';

const waitMs = 5000;

export interface LoopStatus {
  version: string;
  pid: number;
  uptime_s: number;
  model: { kind: string; name: string; state: string; warnings: string[]; contextTokens?: number };
  sessions: number;
  connections: number;
  running: { session: string; turn: number }[];
  turns: number;
  memory: {
    failed: number;
    updatesLost: number;
    lastFailure?: { method: string; cause: string; at: string };
  };
  deleted_untold: number;
  mcp: Record<string, { state: string; tools: number; restarts: number; failure?: string }>;
  faults: Record<string, number>;
}

/** What a daemon says of itself, or why it says nothing. */
export type Part<S> = S | { unavailable: string; message: string };

async function tried<S>(ask: () => Promise<S>): Promise<Part<S>> {
  try {
    return await ask();
  } catch (thrown) {
    const { code, message } = toAppError(thrown);
    return { unavailable: code, message };
  }
}

export const isAway = <S extends object>(part: Part<S>): part is { unavailable: string; message: string } =>
  'unavailable' in part;

/** Both at once; neither keeps the other from answering. */
export async function both(context: CommandContext) {
  const [memoryd, loopd] = await Promise.all([
    tried(() => context.memory().call('status', {}, { timeoutMs: waitMs })),
    tried(() => inTime(async () => (await context.channel()).request<LoopStatus>('_loopkeep/status', {}))),
  ]);
  return { memoryd, loopd };
}

/** A daemon that hangs does not hang whoever asks. @throws AppError loop-unavailable */
async function inTime<S>(ask: () => Promise<S>): Promise<S> {
  const timer = new AbortController();
  const late = sleep(waitMs, undefined, { signal: timer.signal }).then(() => {
    throw new AppError('loop-unavailable', `loopd does not answer within ${waitMs} ms`);
  });
  late.catch(() => undefined);
  const asked = ask();
  asked.catch(() => undefined);
  return await Promise.race([asked, late]).finally(() => timer.abort());
}

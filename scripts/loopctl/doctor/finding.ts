/** What a check of loopctl doctor finds, and what it may look at: it changes nothing. */
import type { ErrorCode } from '../../../shared/errors.ts';
import type { Home } from '../../../shared/home.ts';
import type { StatusReply } from '../../../shared/protocol/replies.ts';
import type { LoopdSettings, MemorydSettings } from '../../../shared/settings.ts';
import type { LoopStatus, Part } from '../daemon-status.ts';

export interface Finding {
  /** What was looked at: `folder sessions`. */
  readonly what: string;
  /** Undefined where all is well. */
  readonly code?: ErrorCode;
  readonly text: string;
  /** What to type or to change. */
  readonly mend?: string;
}

export interface Patient {
  readonly home: Home;
  /** Undefined where a file is wrong: then there is nothing to go by. */
  readonly memorydSettings: MemorydSettings | undefined;
  readonly loopdSettings: LoopdSettings | undefined;
  readonly memoryd: Part<StatusReply>;
  readonly loopd: Part<LoopStatus>;
  readonly configFaults: readonly Finding[];
}

export type Check = (patient: Patient) => Promise<Finding[]> | Finding[];

export const ok = (what: string, text: string): Finding => ({ what, text });

export const fault = (what: string, code: ErrorCode, [text, mend]: readonly [string, string]): Finding => ({
  what,
  code,
  text,
  mend,
});

/** What keeps us from looking is a finding too. */
export function unseen(what: string, thrown: unknown): Finding {
  const code = (thrown as NodeJS.ErrnoException).code ?? String(thrown);
  return fault(what, 'not-permitted', [
    `cannot be looked at: ${code}`,
    'run it as root: sudo loopctl doctor',
  ]);
}

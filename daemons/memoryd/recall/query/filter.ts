/** Which turns a request may be answered with. */
import type { RecallParams } from '../../../../shared/protocol/memoryd.ts';
import { mark, sourceOf } from '../index/columns.ts';
import type { TurnIndex } from '../index/turn-index.ts';
import type { TimeWindow } from './time-window.ts';

export type Filter = (turn: number) => boolean;

export function filterOf(
  index: TurnIndex,
  params: RecallParams,
  { window, turns }: { window: TimeWindow; turns: number },
): Filter {
  const { columns, sessions } = index;
  const only = params.session === undefined ? undefined : numberOf(params.session);
  const without = params.exclude_session === undefined ? -1 : numberOf(params.exclude_session);
  const sources = params.sources === undefined ? undefined : new Set(params.sources);
  const { sinceMs, untilMs } = window;
  return (turn) => {
    if (turn >= turns) return false;
    const flags = columns.flags[turn]!;
    if ((flags & mark.dead) !== 0) return false;
    const session = columns.session[turn]!;
    if ((only !== undefined && session !== only) || session === without) return false;
    const atMs = columns.atMs[turn]!;
    if (atMs < sinceMs || atMs >= untilMs) return false;
    return sources === undefined || sources.has(sourceOf(flags));
  };

  /** A run is named like a session; an id that is unknown names no turn. */
  function numberOf(id: string): number {
    const found = sessions.find({ kind: 'session', id }) ?? sessions.find({ kind: 'run', id });
    return found?.number ?? -1;
  }
}

/** status: state, versions, sizes, backlog, jobs, usage of the curated files, faults by code. */
import type { MemorydProtocol } from '../../../shared/protocol/memoryd.ts';
import type { StatusReply } from '../../../shared/protocol/replies.ts';
import type { Params } from '../../../shared/protocol/method.ts';
import { version } from '../../../shared/version.ts';
import type { MemorydContext } from '../context.ts';

export async function status(
  _params: Params<MemorydProtocol, 'status'>,
  { store, curated, intake, faults, home, startedMs, nowMs, connections }: MemorydContext,
): Promise<StatusReply> {
  const { state, ...facts } = store.status();
  const { index, sessions, jobs } = intake.status();
  const isReady = state.kind === 'ready' && index.state !== 'damaged';
  return {
    state: isReady ? 'ready' : 'degraded',
    version,
    pid: process.pid,
    uptime_s: Math.round((nowMs() - startedMs) / 1000),
    home: home.home,
    memory_rss_bytes: process.memoryUsage.rss(),
    connections: connections(),
    store: {
      ...facts,
      ...state,
      state: state.kind,
      bytes: state.kind === 'ready' ? await store.size() : null,
    },
    index,
    memory: await curated.status(),
    sessions,
    jobs: { ...jobs, ...faults.jobs } as StatusReply['jobs'],
    faults: faults.byCode,
  };
}

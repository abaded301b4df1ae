/** Builds a second index beside the one that answers: to take its place, or to be compared with it. */
import { rm } from 'node:fs/promises';
import { AppError } from '../../../shared/errors.ts';
import type { VerifyReply } from '../../../shared/protocol/replies.ts';
import { FedIndex, type FeedSources } from './fed-index.ts';
import { finishForgetting } from './forget-session.ts';
import type { Gate } from './gate.ts';
import type { OpenIndex } from './index-port.ts';
import { besideIndex, type LiveIndex } from './live-index.ts';

/** A build is begun anew when something was forgotten meanwhile, so often and no more. */
const buildsMax = 5;
/** Sessions in which two indexes differ are named, so many. */
const differencesMax = 20;
/** Logs grow while an index is built: it is brought up so often before reading stops for the last bit. */
const roundsBeforeLast = 2;

export interface RebuildOptions {
  readonly live: LiveIndex;
  readonly sources: FeedSources;
  readonly open: OpenIndex;
  readonly feeding: Gate;
  /** Rises with everything that is forgotten. */
  readonly forgettings: () => number;
  readonly isStopping: () => boolean;
}

/** @returns the records that the new index holds. */
export async function rebuild(options: RebuildOptions): Promise<number> {
  await refuseWithoutLogs(options);
  const dir = besideIndex.next(options.live.dir);
  return await built(options, dir, async (next) => {
    const records = await countRecords(next);
    await next.index.close();
    await options.live.exchange(dir);
    return records;
  });
}

/** Whether the index equals a rebuild, and where not. */
export async function compareWithRebuild(options: RebuildOptions): Promise<VerifyReply['index']> {
  const dir = besideIndex.verify(options.live.dir);
  return await built(options, dir, async (next) => {
    try {
      return await options.live.use(async (live) => {
        await bringUp(options, live);
        return await compare(live, next);
      });
    } finally {
      await next.index.close();
      await rm(dir, { recursive: true, force: true });
    }
  });
}

/** `finish` is called while nothing is read, with an index that is up with everything; closing it is its own. */
async function built<R>(
  options: RebuildOptions,
  dir: string,
  finish: (next: FedIndex) => Promise<R>,
): Promise<R> {
  for (let tried = 0; tried < buildsMax; tried += 1) {
    const begun = options.forgettings();
    const next = await build(options, dir);
    const outcome = await options.feeding.alone(async () => {
      if (options.forgettings() !== begun) return undefined;
      await abandoning(next, dir, () => bringUp(options, next));
      return { result: await finish(next) };
    });
    if (outcome !== undefined) return outcome.result;
    await next.index.close();
  }
  throw new AppError('memory-index-damaged', `something was forgotten during each of ${buildsMax} builds`);
}

async function build(options: RebuildOptions, dir: string): Promise<FedIndex> {
  await rm(dir, { recursive: true, force: true });
  const { open, sources } = options;
  const next = new FedIndex(await open({ dir, texts: sources.texts }), sources);
  await abandoning(next, dir, async () => {
    await options.sources.tombstones.load(next.index);
    await finishForgetting(next, options.sources);
    for (let round = 0; round < roundsBeforeLast; round += 1) await bringUp(options, next);
  });
  return next;
}

/** An index that cannot be finished leaves nothing behind. */
async function abandoning(next: FedIndex, dir: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    await next.index.close();
    await rm(dir, { recursive: true, force: true });
    throw error;
  }
}

async function bringUp({ sources, isStopping }: RebuildOptions, fed: FedIndex): Promise<void> {
  const { logs } = await sources.folder.list();
  if (!(await fed.catchUp(logs, isStopping)))
    throw new AppError('stopping', 'build a recall index: memoryd is stopping');
}

/** An index is derived, but a rebuild from a folder that is not mounted would be an empty one. */
async function refuseWithoutLogs({ live, sources }: RebuildOptions): Promise<void> {
  const { folder, logs } = await sources.folder.list();
  if (folder !== undefined && logs.length > 0) return;
  const known = await live.use((fed) => fed.knownSessions());
  if (known.length === 0) return;
  throw new AppError(
    'session-damaged',
    `rebuild the recall index: ${sources.folder.path} holds no logs, and the index knows ${known.length} sessions`,
  );
}

async function countRecords(fed: FedIndex): Promise<number> {
  let records = 0;
  for (const session of await fed.knownSessions())
    records += fed.sessions.progressOf(session)?.counts.records ?? 0;
  return records;
}

async function compare(live: FedIndex, rebuilt: FedIndex): Promise<VerifyReply['index']> {
  const equal = (await live.index.fingerprint()) === (await rebuilt.index.fingerprint());
  if (equal) return { equal, differences: [] };
  const differences: string[] = [];
  const sessions = new Set([...(await live.knownSessions()), ...(await rebuilt.knownSessions())]);
  for (const session of sessions) {
    const [one, other] = [live, rebuilt].map((fed) => fed.sessions.progressOf(session)?.counts.items);
    if (one === other) continue;
    differences.push(
      `session ${session}: ${one ?? 'no'} items in the index, ${other ?? 'none'} in a rebuild`,
    );
  }
  if (differences.length === 0) differences.push('the same numbers of items, with other words or places');
  return { equal, differences: differences.slice(0, differencesMax) };
}

/** Takes one session out of the index for good. */
import type { FedIndex } from './fed-index.ts';
import { sessionOf } from './items.ts';
import { dropProgress } from './session-feed.ts';
import type { KeptTexts } from './texts.ts';
import type { Tombstones } from './tombstones.ts';

interface Forgetting {
  readonly tombstones: Tombstones;
  readonly texts: KeptTexts;
}

/** The tombstone comes first: a kill at any point leaves the session forgotten, or says what is left to do. */
export async function forgetSession(
  fed: FedIndex,
  {
    session,
    firstLine,
    nowMs,
    ...kept
  }: Forgetting & { session: string; firstLine?: string; nowMs: () => number },
): Promise<void> {
  const known = firstLine ?? fed.sessions.progressOf(session)?.firstLine;
  await kept.tombstones.add(fed.index, session, {
    atMs: nowMs(),
    whole: true,
    ...(known === undefined ? {} : { firstLine: known }),
  });
  await dropSession(fed, session, kept.texts);
}

/** What a kill left of forgetting: sessions that are forgotten and still in the index. */
export async function finishForgetting(fed: FedIndex, { tombstones, texts }: Forgetting): Promise<void> {
  for (const [session, { whole }] of tombstones.entries()) {
    if (whole && fed.sessions.progressOf(session) !== undefined) await dropSession(fed, session, texts);
  }
}

async function dropSession({ index }: FedIndex, session: string, texts: KeptTexts): Promise<void> {
  await index.forget(sessionOf(session));
  await dropProgress(index, session);
  texts.drop(sessionOf(session));
}

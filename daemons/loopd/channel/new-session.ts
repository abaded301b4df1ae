/** A new session: its baseline is frozen from system.md, memoryd's block and the tools, and is on the disk before it is known. */
import { createHash } from 'node:crypto';
import type { Baseline, Origin, ToolDefinition } from '../../../shared/protocol/sessions.ts';
import { buildBaseline, readSystem } from '../baseline.ts';
import type { MemoryLink } from '../memory.ts';
import type { Session } from '../session/session.ts';
import type { Sessions } from '../session/sessions.ts';

export interface BaselineSource {
  readonly memory: Pick<MemoryLink, 'block'>;
  readonly systemPath: string;
  readonly tools: readonly ToolDefinition[];
  readonly fixedTokensMax: number;
}

/** @throws AppError memory-unavailable, baseline-unreadable, baseline-too-large; then there is no session and no file */
export async function newSession(
  sessions: Sessions,
  source: BaselineSource,
  { origin, model }: { origin: Origin; model: string },
): Promise<Session> {
  const block = await source.memory.block();
  const baseline = await baselineWith(block, source);
  return sessions.create({ id: sessions.newId(), origin, model, baseline });
}

const emptyBlock = { text: '', version: createHash('sha256').update('').digest('hex') };

/** For a conversation that was held elsewhere, before there was a memory. */
export function baselineWithoutMemory(source: BaselineSource): Promise<Baseline> {
  return baselineWith(emptyBlock, source);
}

async function baselineWith(
  block: { text: string; version: string },
  { systemPath, tools, fixedTokensMax }: BaselineSource,
): Promise<Baseline> {
  return buildBaseline({ system: await readSystem(systemPath), block, tools, fixedTokensMax });
}

/** The part of every request that never changes within a session: system.md, the memory block, the core tools. */
import { readFile } from 'node:fs/promises';
import { AppError } from '../../shared/errors.ts';
import type { BlockReply } from '../../shared/protocol/replies.ts';
import type { Baseline, ToolDefinition } from '../../shared/protocol/sessions.ts';
import { estimateTokens } from '../../shared/tokens.ts';

/** For system.md and the tools together; the block is bounded by the limits of its files. */
const fixedTokensMaxDefault = 3_000;

/** @throws AppError baseline-unreadable */
export async function readSystem(path: string): Promise<string> {
  let bytes: Buffer;
  try {
    bytes = await readFile(path);
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code ?? 'unknown';
    throw new AppError('baseline-unreadable', `could not read ${path}: ${reason}`, {
      details: { path, cause: reason },
      cause,
    });
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new AppError('baseline-unreadable', `${path} is not UTF-8`, {
      details: { path, cause: 'not-utf8' },
      cause,
    });
  }
}

/** The token estimate of what is the same for every session. @throws AppError baseline-too-large */
export function checkFixedTokens(
  system: string,
  tools: readonly ToolDefinition[],
  fixedTokensMax = fixedTokensMaxDefault,
): number {
  const tokens = estimateTokens(system) + estimateTokens(JSON.stringify(tools));
  if (tokens <= fixedTokensMax) return tokens;
  throw new AppError(
    'baseline-too-large',
    `system.md and the tools are about ${tokens} tokens, over ${fixedTokensMax}: shorten system.md`,
    { details: { tokens, limit: fixedTokensMax } },
  );
}

interface BaselineParts {
  /** What system.md holds. */
  readonly system: string;
  readonly block: Pick<BlockReply, 'text' | 'version'>;
  readonly tools: readonly ToolDefinition[];
  readonly fixedTokensMax?: number;
}

/** A pure function of its arguments. @throws AppError baseline-too-large */
export function buildBaseline({ system: text, block, tools, fixedTokensMax }: BaselineParts): Baseline {
  const fixed = text.trimEnd();
  const fixedTokens = checkFixedTokens(fixed, tools, fixedTokensMax);
  const system = block.text === '' ? fixed : `${fixed}\n\n${block.text}`;
  return { system, tools, version: block.version, tokens: fixedTokens + estimateTokens(block.text) };
}

/** Which segments make up the index: what a batch replaces to make new ones count and old ones not. */
import { IndexDamage } from './damage.ts';

/** Turns that are sealed together. */
export const blockTurns = 4_096;

export interface Segment {
  readonly id: number;
  /** Its turns: from the first to one before the end. */
  readonly first: number;
  readonly end: number;
  /** 0 as sealed; one more for each merge. */
  readonly level: number;
  /** Dead turns that its postings are already rid of. */
  readonly purged: number;
}

export interface Manifest {
  readonly segments: readonly Segment[];
  /** An id that no segment ever had. */
  readonly nextSegment: number;
}

export const emptyManifest: Manifest = { segments: [], nextSegment: 0 };

export function sealedTurns({ segments }: Manifest): number {
  return segments.at(-1)?.end ?? 0;
}

export function writeManifest(manifest: Manifest): Uint8Array {
  return Buffer.from(JSON.stringify(manifest));
}

export function readManifest(value: Uint8Array): Manifest {
  const manifest = parse(value);
  let end = 0;
  for (const segment of manifest.segments) {
    if (segment.first !== end || segment.end <= segment.first) {
      throw new IndexDamage('the segments do not follow each other');
    }
    end = segment.end;
  }
  return manifest;
}

function parse(value: Uint8Array): Manifest {
  try {
    return JSON.parse(Buffer.from(value).toString('utf8')) as Manifest;
  } catch {
    throw new IndexDamage('the manifest is not readable');
  }
}

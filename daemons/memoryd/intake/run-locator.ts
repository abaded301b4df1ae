/** Where the text of an item of a run is: which kind of record, and for a summary which iteration. */

export interface RunLocator {
  readonly kind: 'episode' | 'summary';
  /** Of a summary; the number of an episode is its record. */
  readonly iteration: number;
}

const kinds = ['episode', 'summary'] as const;

export function writeRunLocator({ kind, iteration }: RunLocator): string {
  return `${kind === 'episode' ? 0 : iteration}:${kinds.indexOf(kind)}`;
}

export function readRunLocator(locator: string): RunLocator {
  const [iteration, kind] = locator.split(':').map(Number);
  return { kind: kinds[kind ?? 0] ?? 'episode', iteration: iteration ?? 0 };
}

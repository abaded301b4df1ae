/** How far long work has come: one line on a terminal, redrawn a few times a second; nothing anywhere else. */
import type { Output } from './output.ts';

const redrawMs = 100;
const barCells = 24;

export interface Progress {
  /** So much more is done. */
  add(amount: number): void;
  /** Takes the line away. */
  end(): void;
}

interface ProgressOptions {
  /** What is being done: `export`. */
  readonly what: string;
  /** Undefined where it is not known before the end. */
  readonly total?: number | undefined;
  readonly unit: string;
}

export const noProgress: Progress = { add: () => undefined, end: () => undefined };

/** A bar where both are a terminal: results go to one and the bar to the other. */
export function startProgress(
  out: Pick<Output, 'isTerminal' | 'isJson'>,
  options: ProgressOptions,
): Progress {
  if (!out.isTerminal || out.isJson || !process.stderr.isTTY) return noProgress;
  let done = 0;
  let drawnMs = 0;
  const draw = () => process.stderr.write(`\r\u001b[2K${progressLine(done, options)}`);
  return {
    add: (amount) => {
      done += amount;
      if (Date.now() - drawnMs < redrawMs) return;
      drawnMs = Date.now();
      draw();
    },
    end: () => void process.stderr.write('\r\u001b[2K'),
  };
}

export function progressLine(done: number, { what, total, unit }: ProgressOptions): string {
  if (total === undefined || total === 0) return `${what}  ${done.toLocaleString('en')} ${unit}`;
  const share = Math.min(1, done / total);
  const cells = Math.round(share * barCells);
  const percent = `${Math.floor(share * 100)}`.padStart(3);
  return `${what}  ${'█'.repeat(cells)}${'░'.repeat(barCells - cells)} ${percent} %  ${done.toLocaleString('en')} of ${total.toLocaleString('en')} ${unit}`;
}

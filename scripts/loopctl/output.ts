/** What loopctl prints: text for people, JSON for programs; colour only on a terminal. */
import { errorKinds, type AppError } from '../../shared/errors.ts';

export interface Output {
  readonly isJson: boolean;
  readonly isTerminal: boolean;
  /** The result: `value` as JSON with --json, else the text. */
  result(value: unknown, text: () => string): void;
  write(text: string): void;
  line(text?: string): void;
  /** A remark that is not the result; on standard error. */
  note(text: string): void;
  bold(text: string): string;
  dim(text: string): string;
}

export function createOutput(isJson: boolean): Output {
  const isTerminal =
    process.stdout.isTTY && process.env['NO_COLOR'] === undefined && process.env['TERM'] !== 'dumb';
  const style = (code: number, text: string) => (isTerminal ? `\u001b[${code}m${text}\u001b[0m` : text);
  const write = (text: string) => void process.stdout.write(text);
  // Whoever reads has had enough (loopctl … | head): that is no error of ours.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 74));
  return {
    isJson,
    isTerminal,
    write,
    line: (text = '') => write(`${text}\n`),
    result: (value, text) => write(isJson ? `${JSON.stringify(value)}\n` : ensureNewline(text())),
    note: (text) => void process.stderr.write(`${text}\n`),
    bold: (text) => style(1, text),
    dim: (text) => style(2, text),
  };
}

function ensureNewline(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

/** Columns under their headings, as wide as their widest cell. */
export function tableOf(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = headings.map((heading, at) =>
    Math.max(heading.length, ...rows.map((row) => row[at]?.length ?? 0)),
  );
  const lines = [headings, ...rows].map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return lines.join('\n');
}

/** What still works while a code stands, for the first line of an error. */
const stillWorks: Partial<Record<keyof typeof errorKinds, string>> = {
  'memory-unavailable': 'sessions that exist go on',
  'loop-unavailable': 'memory, recall and records still answer',
  'model-unavailable': 'nothing was lost, memory and recall still answer',
  'store-damaged': 'block, memory view and recall still answer',
  'memory-index-damaged': 'records and curated files are whole, the index rebuilds itself',
};

/** Three lines: what failed and what still works; the runbook entry; the command that prints it. */
export function errorText(error: AppError): string {
  const works = stillWorks[error.code];
  const hint = hintOf(error);
  return [
    `loopctl: ${error.message}${works === undefined ? '' : ` (${works})`}${hint}`,
    `runbook: ${error.code}`,
    `  loopctl explain ${error.code}`,
    '',
  ].join('\n');
}

function hintOf(error: AppError): string {
  const errno = error.details['errno'];
  if (errno === 'EACCES') return '; may you use this socket? try: sudo -u memoryd loopctl …';
  if (errno !== 'ENOENT' && errno !== 'ECONNREFUSED') return '';
  const unit = error.code === 'loop-unavailable' ? 'loopd' : 'memoryd';
  return `; is it running? try: systemctl start ${unit}, or: ${unit} serve`;
}

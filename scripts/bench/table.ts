/** Tables as Markdown, columns aligned for whoever reads them in a terminal. */

export function tableOf(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((title, at) =>
    Math.max(title.length, ...rows.map((row) => row[at]?.length ?? 0)),
  );
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join(' | ')} |`;
  const rule = `|${widths.map((width, at) => (at === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`;
  return [line(header), rule, ...rows.map(line)].join('\n');
}

export const percent = (value: number) => value.toFixed(1);
export const milliseconds = (value: number) => (value < 10 ? value.toFixed(2) : value.toFixed(0));
export const mebibytes = (bytes: number | undefined) =>
  bytes === undefined ? '-' : (bytes / 1024 / 1024).toFixed(1);

/** Options of every command that lists a page at a time. */
export const paging = [
  ['--limit <count>', 'at most this many'],
  ['--cursor <text>', 'go on from here'],
] as const;

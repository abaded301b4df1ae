/** Commands for programs: bridges and the record plane. */
import type { Command } from '../command.ts';
import { paging } from './paging.ts';

const role = ['--role <role>', 'ask on the socket of this role: loop, gate or ops (ops)'] as const;

export const programs: readonly Command[] = [
  {
    path: 'acp',
    group: 'programs',
    about: 'Bridge standard input and output to the channel, for an ACP editor.',
    example: 'loopctl acp',
    load: async () => (await import('../commands/bridges.ts')).acp,
  },
  {
    path: 'mcp',
    group: 'programs',
    about: 'An MCP server on standard input and output.',
    options: [role],
    example: 'loopctl mcp',
    load: async () => (await import('../commands/bridges.ts')).mcp,
  },
  {
    path: 'record put',
    group: 'programs',
    about: 'Store a record read from standard input.',
    args: '<kind>',
    options: [
      role,
      ['--run <id>', 'the run, for a goal_state'],
      ['--request-id <id>', 'the same id is done once'],
    ],
    example: 'loopctl record put episode < episode.json',
    load: async () => (await import('../commands/record.ts')).put,
  },
  {
    path: 'record get',
    group: 'programs',
    about: 'Print one record.',
    args: '<kind> <run>',
    options: [
      role,
      ['--target <target>', 'of a goal_state'],
      ['--key <key>', 'of a scratchpad'],
      ['--iteration <number>', 'of a summary'],
    ],
    example: 'loopctl record get checkpoint nightly',
    load: async () => (await import('../commands/record.ts')).get,
  },
  {
    path: 'record list',
    group: 'programs',
    about: 'List the records of a kind; without RUN those of every run.',
    args: '<kind> [run]',
    options: [role, ...paging, ['--order <order>', 'asc or desc (asc)']],
    example: 'loopctl record list ledger nightly --json',
    load: async () => (await import('../commands/record.ts')).list,
  },
  {
    path: 'runs',
    group: 'programs',
    about: 'The runs that have a checkpoint.',
    options: paging,
    example: 'loopctl runs',
    load: async () => (await import('../commands/record.ts')).runs,
  },
  {
    path: 'ledger',
    group: 'programs',
    about: 'What happened in a run.',
    args: '<run>',
    options: paging,
    example: 'loopctl ledger nightly',
    load: async () => (await import('../commands/record.ts')).ledger,
  },
  {
    path: 'proposals',
    group: 'programs',
    about: 'What a run proposed; stale ones are marked.',
    args: '<run>',
    options: paging,
    example: 'loopctl proposals nightly',
    load: async () => (await import('../commands/record.ts')).proposals,
  },
  {
    path: 'scores',
    group: 'programs',
    about: 'How each skill has done.',
    example: 'loopctl scores',
    load: async () => (await import('../commands/record.ts')).scores,
  },
  {
    path: 'carry',
    group: 'programs',
    about: 'The last summaries of a run, for its next iteration.',
    args: '<run>',
    options: [['--depth <count>', 'how many (3)']],
    example: 'loopctl carry nightly --depth 5',
    load: async () => (await import('../commands/record.ts')).carry,
  },
  {
    path: 'watch',
    group: 'programs',
    about: "Follow a run's ledger until it is finished.",
    args: '<run>',
    example: 'loopctl watch nightly',
    load: async () => (await import('../commands/record.ts')).watch,
  },
];

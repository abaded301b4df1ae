/** Every command of loopctl: help, completion and man pages follow from this table. */
import type { Command } from './command.ts';
import { operators } from './table/operators.ts';
import { people } from './table/people.ts';
import { programs } from './table/programs.ts';

export const groups = {
  people: 'For people:',
  operators: 'For operators:',
  programs: 'For programs:',
} as const;

export const commands: readonly Command[] = [...people, ...operators, ...programs];

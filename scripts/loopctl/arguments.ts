/** Options of a command line as the values that a request takes; what is not given stays out. */
import { ParamsError } from '../../shared/params-error.ts';
import { curatedFiles, type CuratedFile } from '../../shared/protocol/replies.ts';
import { roles, type Role } from '../../shared/protocol/method.ts';
import type { Options } from './command.ts';

export function textOption<K extends string>(
  options: Options,
  option: string,
  param: K,
): Partial<Record<K, string>> {
  const value = options[option];
  return (typeof value === 'string' ? { [param]: value } : {}) as Partial<Record<K, string>>;
}

/** @throws ParamsError where it is no whole number */
export function countOption<K extends string>(
  options: Options,
  option: string,
  param: K,
): Partial<Record<K, number>> {
  const value = options[option];
  if (typeof value !== 'string') return {};
  if (!/^\d{1,15}$/.test(value))
    throw new ParamsError(param, `--${param}: a whole number is wanted, not ${value}`, value);
  return { [param]: Number(value) } as Partial<Record<K, number>>;
}

/** The option has the name of its param. @throws ParamsError where it is none of the choices */
export function choiceOption<K extends string, const C extends readonly string[]>(
  options: Options,
  param: K,
  choices: C,
): Partial<Record<K, C[number]>> {
  const value = options[param];
  if (typeof value !== 'string') return {};
  if (!choices.includes(value))
    throw new ParamsError(param, `--${param}: one of ${choices.join(', ')} is wanted, not ${value}`, value);
  return { [param]: value } as Partial<Record<K, C[number]>>;
}

export function fileOption(options: Options): CuratedFile {
  return choiceOption(options, 'file', curatedFiles).file ?? 'memory';
}

export function roleOption(options: Options): Role {
  return choiceOption(options, 'role', roles).role ?? 'ops';
}

/** Arguments as small models write them: tidied where the meaning is plain, else named so that the model can mend them. */
import { checkOf } from '../../../shared/schema-check.ts';
import type { Schema } from '../../../shared/schema.ts';

type Arguments = Record<string, unknown>;

/** Absent, null and blank mean the same in an optional field; so do 5 and "5" in a field of numbers. */
export function tidied(args: Arguments, schema: Schema): Arguments {
  const properties = (schema['properties'] ?? {}) as Record<string, Schema>;
  const required = new Set((schema['required'] ?? []) as string[]);
  const tidy = new Map<string, unknown>();
  for (const [name, value] of Object.entries(args)) {
    if (value === null || (value === '' && !required.has(name))) continue;
    tidy.set(name, isNumberText(value, properties[name]) ? Number(value) : value);
  }
  return Object.fromEntries(tidy);
}

function isNumberText(value: unknown, property: Schema | undefined): boolean {
  const isNumeric = property?.['type'] === 'integer' || property?.['type'] === 'number';
  return isNumeric && typeof value === 'string' && /^-?\d{1,15}(\.\d{1,15})?$/.test(value.trim());
}

/** A check that names the field and, for a field that is not known, the names that are. */
export function argumentCheck(schema: Schema): (args: Arguments) => string | undefined {
  const check = checkOf(schema);
  const names = Object.keys(schema['properties'] ?? {}).join(', ');
  return (args) => {
    const fault = check(tidied(args, schema));
    if (fault === undefined) return undefined;
    return `${fault.field || 'arguments'} ${fault.message}. Accepted: ${names}.`;
  };
}

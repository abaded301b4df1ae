/** Whether a value is what a schema says, and if not, which field of it is wrong and why. */
import type { ErrorObject } from 'ajv';
import { compileSchema, type CompiledSchema } from './schema-compiler.ts';
import type { Schema } from './schema.ts';

export interface Fault {
  /** The field, dotted where it lies deeper: `limit`, `operations.2.text`. */
  readonly field: string;
  /** Follows the field's name in a sentence: `must be integer`. */
  readonly message: string;
  readonly value: unknown;
}

export type Check = (value: unknown) => Fault | undefined;

/** The check of a schema; it is compiled when it is first asked. */
export function checkOf(schema: Schema): Check {
  let compiled: CompiledSchema | undefined;
  return (value) => {
    compiled ??= compileSchema(schema);
    if (compiled(value)) return undefined;
    return faultOf(compiled.errors ?? []);
  };
}

function faultOf(errors: readonly ErrorObject[]): Fault {
  // Of the branches of `anyOf`, the first names what the field should have been; the branch for null does not help.
  const error = errors.find(({ keyword }) => keyword !== 'anyOf') ?? errors[0];
  if (error === undefined) return { field: '', message: 'is not as its schema says', value: undefined };
  const path = error.instancePath.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~');
  const inside = (name: unknown) => (path === '' ? String(name) : `${path}.${String(name)}`);
  switch (error.keyword) {
    case 'additionalProperties': {
      const name = error.params['additionalProperty'] as string;
      const holder = error.data as Record<string, unknown>;
      return { field: inside(name), message: 'is not a known field', value: holder[name] };
    }
    case 'required':
      return { field: inside(error.params['missingProperty']), message: 'is missing', value: undefined };
    case 'enum': {
      const allowed = (error.params['allowedValues'] as unknown[]).join(', ');
      return { field: path, message: `must be one of ${allowed}`, value: error.data };
    }
    default:
      return { field: path, message: error.message ?? 'is wrong', value: error.data };
  }
}

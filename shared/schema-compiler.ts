/** Compiles a schema with ajv at its first use. The build replaces this file by code compiled ahead (scripts/build.ts). */
import { Ajv, type ErrorObject } from 'ajv';
import type { Schema } from './schema.ts';

export interface CompiledSchema {
  (value: unknown): boolean;
  errors?: ErrorObject[] | null;
}

/** Shared with the build, so that both compile alike. */
export const ajvOptions = { strict: true, allowUnionTypes: true, verbose: true } as const;

const ajv = new Ajv(ajvOptions);

export function compileSchema(schema: Schema): CompiledSchema {
  return ajv.compile(schema) as CompiledSchema;
}

/** Checks arguments against a JSON Schema that an MCP server wrote: any draft, leniently, and never a reason to fail. */
import type { ErrorObject, ValidateFunction } from 'ajv';

export type JsonCheck = (value: unknown) => string | undefined;

interface Validator {
  compile(schema: object): ValidateFunction;
}

const faultsShownMax = 3;
let validator: Validator | undefined;

/** Loads the validator; devices without MCP servers never need it. */
export async function prepareJsonSchemas(): Promise<void> {
  const { createValidator } = await import('./schema-validator.ts');
  validator ??= createValidator();
}

/** A schema that cannot be compiled checks nothing: the server itself is the judge then. */
export function compileJsonSchema(schema: Readonly<Record<string, unknown>>): JsonCheck {
  let validate: ValidateFunction;
  try {
    // The draft that a schema names matters little for arguments, and one that is not known would be refused.
    const { $schema: _draft, $id: _id, ...rest } = schema;
    if (validator === undefined) return () => undefined;
    validate = validator.compile(rest);
  } catch {
    return () => undefined;
  }
  return (value) => {
    if (validate(value)) return undefined;
    return (validate.errors ?? []).slice(0, faultsShownMax).map(faultText).join('; ');
  };
}

function faultText({ instancePath, keyword, params, message }: ErrorObject): string {
  const path = instancePath.slice(1).replaceAll('/', '.');
  const place = path === '' ? '' : `${path} `;
  if (keyword === 'required') return `${place}${String(params['missingProperty'])} is missing`;
  if (keyword === 'additionalProperties')
    return `${place}${String(params['additionalProperty'])} is not a known argument`;
  if (keyword === 'enum')
    return `${place}must be one of ${(params['allowedValues'] as unknown[]).join(', ')}`;
  return `${place}${message ?? 'is wrong'}`;
}

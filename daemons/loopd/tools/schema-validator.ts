/** The validator of foreign JSON Schemas, in a module of its own so that it is loaded only where it is needed. */
import { Ajv2020 } from 'ajv/dist/2020.js';

export function createValidator(): Ajv2020 {
  return new Ajv2020({
    strict: false,
    allErrors: true,
    logger: false,
    validateFormats: false,
    addUsedSchema: false,
  });
}

/** JSON Schema and its TypeScript type from one text: each function returns plain schema, closed, with its type riding along. */

declare const phantom: unique symbol;

/** A JSON Schema whose accepted values are of type T. */
export interface Schema<T = unknown> {
  readonly [phantom]?: T;
  readonly [keyword: string]: unknown;
}

export type Infer<S> = S extends Schema<infer T> ? T : never;

type Fields = Readonly<Record<string, Schema>>;
type Flat<T> = { [K in keyof T]: T[K] };
type Fixed<F extends Fields> = { [K in keyof F]: Infer<F[K]> };

/** A closed object: `required` must be there, `optional` may be; any other member is refused. */
export function object<R extends Fields, O extends Fields = Record<never, never>>(
  required: R,
  optional?: O,
): Schema<Flat<Fixed<R> & { [K in keyof O]?: Infer<O[K]> }>> {
  return {
    type: 'object',
    properties: { ...required, ...optional },
    required: Object.keys(required),
    additionalProperties: false,
  };
}

/** A string; lengths count Unicode code points. */
export function text(
  limits: { minLength?: number; maxLength?: number; pattern?: string } = {},
): Schema<string> {
  return { type: 'string', ...limits };
}

export function integer(minimum: number, maximum: number): Schema<number> {
  return { type: 'integer', minimum, maximum };
}

export function number(minimum?: number, maximum?: number): Schema<number> {
  return {
    type: 'number',
    ...(minimum === undefined ? {} : { minimum }),
    ...(maximum === undefined ? {} : { maximum }),
  };
}

export function flag(): Schema<boolean> {
  return { type: 'boolean' };
}

export function oneOf<const T extends readonly string[]>(...values: T): Schema<T[number]> {
  return { type: 'string', enum: values };
}

export function list<S extends Schema>(
  items: S,
  limits: { minItems?: number; maxItems?: number } = {},
): Schema<Infer<S>[]> {
  return { type: 'array', items, ...limits };
}

/** Any JSON object; what is in it is checked elsewhere. */
export function anyObject(): Schema<Record<string, unknown>> {
  return { type: 'object' };
}

/** Any JSON value. */
export function anything(): Schema {
  return {};
}

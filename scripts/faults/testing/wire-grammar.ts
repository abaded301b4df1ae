/** Lines for the fuzzer: requests that are right, nearly right and wrong in every part, and bytes that are no message. */
import fc from 'fast-check';
import { isUtf8 } from 'node:buffer';
import { isDeeperThan } from '../../../shared/wire.ts';

const depthMax = 64;

/** What a line must get: a reply with this id, none, or with `isFree` a nameless one that may also be missing. */
export interface Due {
  readonly id?: string | number | null;
  readonly isFree?: boolean;
}

const odd = fc.oneof(
  fc.constantFrom(
    '__proto__',
    'constructor',
    '',
    ' ',
    '\u2028',
    '\ud800',
    '../../etc/passwd',
    'é漢😀',
    '\0',
    '%2e%2e',
  ),
  fc.string({ unit: 'grapheme', maxLength: 20 }),
);
const value: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: odd },
  { weight: 3, arbitrary: fc.constantFrom(0, -1, 1, 2 ** 53, 1e308, 0.5, null, true, false, [], {}) },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
);
const id = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: -5, max: 1_000_000 }) },
  { weight: 2, arbitrary: fc.constantFrom('a', '', '__proto__', 'é'.repeat(100)) },
  { weight: 1, arbitrary: fc.constantFrom<unknown>(null, 0.5, true, [], {}, 2 ** 60) },
  { weight: 1, arbitrary: fc.constant(undefined) },
);

/** A method with fields that it knows; each is there or not, and right or not. */
export interface Sentence {
  readonly method: string;
  readonly fields: Readonly<Record<string, fc.Arbitrary<unknown>>>;
  readonly weight: number;
}

function requestOf(sentences: readonly Sentence[]): fc.Arbitrary<unknown> {
  const of = ({ method, fields }: Sentence) => {
    const right = fc.record(fields);
    const bent = fc.record(
      Object.fromEntries(Object.entries(fields).map(([name, one]) => [name, fc.oneof(one, value)])),
      { requiredKeys: [] },
    );
    const params = fc.oneof(
      { weight: 4, arbitrary: right },
      { weight: 4, arbitrary: bent },
      {
        weight: 1,
        arbitrary: fc
          .tuple(bent, fc.dictionary(odd, value, { maxKeys: 2 }))
          .map(([a, b]) => ({ ...a, ...b })),
      },
      { weight: 1, arbitrary: value },
    );
    return fc.record({ jsonrpc: fc.constant('2.0'), id, method: fc.constant(method), params });
  };
  const named = fc.oneof(...sentences.map((one) => ({ weight: one.weight, arbitrary: of(one) })));
  const broken = fc.record(
    { jsonrpc: fc.oneof(fc.constant('2.0'), value), id: fc.oneof(id, value), method: value, params: value },
    { requiredKeys: [] },
  );
  return fc.oneof(
    { weight: 12, arbitrary: named },
    { weight: 3, arbitrary: broken },
    { weight: 1, arbitrary: value },
  );
}

const garbage = fc.oneof(
  fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from([...bytes].filter((byte) => byte !== 0x0a))),
  fc
    .constantFrom(
      '',
      '\r',
      '\ufeff{}',
      '{"jsonrpc":"2.0","id":1e400,"method":"status"}',
      '[]',
      'null',
      '"',
      '{"a":1}{"b":2}',
    )
    .map((text) => Buffer.from(text)),
  fc.integer({ min: 60, max: 5000 }).map((levels) => Buffer.from('['.repeat(levels))),
  fc
    .integer({ min: 60, max: 70 })
    .map((levels) =>
      Buffer.from(
        `{"jsonrpc":"2.0","id":7,"method":"block","params":{"x":${'['.repeat(levels)}${']'.repeat(levels)}}}`,
      ),
    ),
);

/** One line without its end, as bytes that hold none. */
export function lineOf(sentences: readonly Sentence[]): fc.Arbitrary<Buffer> {
  const text = requestOf(sentences).map((request) => Buffer.from(JSON.stringify(request) ?? 'undefined'));
  const cut = fc.tuple(text, fc.nat()).map(([bytes, at]) => bytes.subarray(0, at % (bytes.length + 1)));
  const flipped = fc.tuple(text, fc.nat(), fc.integer({ min: 1, max: 255 })).map(([bytes, at, by]) => {
    const bent = Buffer.from(bytes);
    const place = at % Math.max(1, bent.length);
    const old = bent[place];
    if (old !== undefined && (old ^ by) !== 0x0a) bent[place] = old ^ by;
    return bent;
  });
  return fc.oneof(
    { weight: 14, arbitrary: text },
    { weight: 2, arbitrary: garbage },
    { weight: 1, arbitrary: cut },
    { weight: 1, arbitrary: flipped },
  );
}

const isId = (one: unknown): one is string | number => typeof one === 'string' || Number.isSafeInteger(one);

/** The value in a line; undefined where it is empty, null where it is none that a daemon would look into. */
function valueIn(bytes: Buffer): { value: unknown; isDeep: boolean } | 'empty' | 'broken' {
  const line = bytes.at(-1) === 0x0d ? bytes.subarray(0, -1) : bytes;
  if (line.length === 0) return 'empty';
  if (!isUtf8(line)) return 'broken';
  const text = line.toString();
  try {
    return { value: JSON.parse(text) as unknown, isDeep: isDeeperThan(text, depthMax) };
  } catch {
    return 'broken';
  }
}

export function memorydDue(bytes: Buffer): Due {
  const found = valueIn(bytes);
  if (found === 'empty') return {};
  if (found === 'broken' || typeof found.value !== 'object' || found.value === null) return { id: null };
  const { jsonrpc, id: given, method } = found.value as Record<string, unknown>;
  const isRequest = jsonrpc === '2.0' && typeof method === 'string' && (given === undefined || isId(given));
  if (isRequest && !Array.isArray(found.value))
    return found.isDeep || given !== undefined ? named(given) : {};
  return named(given);
}

export function channelDue(bytes: Buffer): Due {
  const found = valueIn(bytes);
  if (found === 'empty') return {};
  if (found === 'broken' || typeof found.value !== 'object' || found.value === null) return { id: null };
  if (Array.isArray(found.value) || found.isDeep) return { id: null };
  const { jsonrpc, id: given, method } = found.value as Record<string, unknown>;
  // A reply to nobody, or nothing at all: silence, or word that it is no request.
  if (method === undefined) return { isFree: true };
  if (given === undefined) return { isFree: typeof method !== 'string' || jsonrpc !== '2.0' };
  return named(given);
}

/** What is no id is answered without one; a lone surrogate in it is repaired. */
function named(given: unknown): Due {
  return { id: isId(given) ? wellFormed(given) : null };
}

function wellFormed(given: string | number): string | number {
  return typeof given === 'string' ? given.toWellFormed() : given;
}

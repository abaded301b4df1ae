/** Keys of records: how the parts become a key, which range of keys a run owns, and what a key says. */
import {
  kindNames,
  recordKinds,
  type KeyPart,
  type KindName,
  type RecordKind,
} from '../../../shared/protocol/records.ts';

export interface KeyParts {
  readonly run?: string;
  readonly target?: string;
  readonly key?: string;
  readonly iteration?: number;
  readonly seq?: number;
}

/** A half-open range of keys: `gte` <= key < `lt`. */
export interface KeyRange {
  readonly gte: string;
  readonly lt: string;
}

const separator = '/';
/** The character after the separator: it ends the range of all keys that begin with something and a separator. */
const afterSeparator = '0';
const digits = 20;

const named = (part: KeyPart) => part === 'run' || part === 'target' || part === 'key';

/** @throws TypeError where a part of this kind's key is missing: a bug of the caller. */
export function keyOf(kind: KindName, parts: KeyParts): string {
  const { prefix, key }: RecordKind = recordKinds[kind];
  let text: string = prefix;
  for (const name of key) {
    const part = parts[name];
    if (part === undefined) throw new TypeError(`a key of ${kind} needs ${name}`);
    text += separator + (typeof part === 'number' ? padded(part) : encoded(part));
  }
  return text;
}

/** The keys of a kind, or of one run of it. A kind across runs has one range only. */
export function rangeOf(kind: KindName, run?: string): KeyRange {
  const { prefix, key }: RecordKind = recordKinds[kind];
  if (run === undefined || key[0] !== 'run') {
    return { gte: prefix + separator, lt: prefix + afterSeparator };
  }
  const start = prefix + separator + encoded(run);
  // The run is the whole key: it alone lies before itself and the lowest character, which no part holds unencoded.
  if (key.length === 1) return { gte: start, lt: `${start}\0` };
  return { gte: start + separator, lt: start + afterSeparator };
}

/** What a key says, or undefined where it is no key of a record as `keyOf` writes it. */
export function readKey(key: string): ({ readonly kind: KindName } & KeyParts) | undefined {
  const [prefix, ...texts] = key.split(separator);
  const kind = kindNames.find((name) => recordKinds[name].prefix === prefix);
  if (kind === undefined) return undefined;
  const { key: names }: RecordKind = recordKinds[kind];
  if (texts.length !== names.length) return undefined;
  const parts: Partial<Record<KeyPart, string | number>> = {};
  for (const [at, name] of names.entries()) {
    const text = texts[at] ?? '';
    parts[name] = named(name) ? decoded(text) : Number(text);
  }
  const read = parts as KeyParts;
  return keyOf(kind, read) === key ? { kind, ...read } : undefined;
}

/** Two numbers sort as their padded texts do. */
function padded(number: number): string {
  return String(number).padStart(digits, '0');
}

const plain = /^[^%/\p{Cc}\p{Cs}]*$/u;
/** What is encoded: `%`, `/`, bytes below 0x20, and lone surrogates, which in UTF-8 would all become the same. */
const special = /[%/\p{Cs}]|(?![\x7f-\x9f])\p{Cc}/gu;

function encoded(part: string): string {
  if (plain.test(part)) return part;
  return part.replace(special, (character) => {
    const code = character.charCodeAt(0).toString(16).toUpperCase();
    return code.length > 2 ? `%u${code}` : `%${code.padStart(2, '0')}`;
  });
}

const escape = /%(?:u([0-9A-F]{4})|([0-9A-F]{2}))/g;

function decoded(text: string): string {
  return text.replace(escape, (_, wide: string | undefined, narrow: string | undefined) =>
    String.fromCharCode(Number.parseInt(wide ?? narrow ?? '', 16)),
  );
}

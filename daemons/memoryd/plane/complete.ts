/** A record as it is stored, with every field there, and as it is read back, with what follows from its fields. */
import {
  lifetimesMs,
  recordKinds,
  type KindName,
  type proposalKinds,
  type RecordKind,
} from '../../../shared/protocol/records.ts';

type Fields = Readonly<Record<string, unknown>>;

/** What follows from a record's fields, and is never stored: it would grow stale. */
const derived: Partial<Record<KindName, (record: Fields, nowMs: number) => Fields>> = {
  goal_state: ({ passed, total }) => ({
    pass_rate: total === 0 ? 0 : (passed as number) / (total as number),
  }),
  // The instant itself counts as expired.
  proposal: ({ expires_ms: expiresMs }, nowMs) => ({
    expired: typeof expiresMs === 'number' && nowMs >= expiresMs,
  }),
};

/** The whole record of a checked one: fields in the order of the table, absent ones as what they read as. */
export function complete(kind: KindName, record: Fields): Record<string, unknown> {
  const { value, absent }: RecordKind = recordKinds[kind];
  const whole: Record<string, unknown> = {};
  for (const field of Object.keys(value['properties'] as object)) {
    whole[field] = record[field] ?? absent[field];
  }
  if (kind === 'proposal') whole['expires_ms'] ??= expiryMs(whole);
  return whole;
}

function expiryMs({ kind, created_ms: createdMs }: Fields): number | null {
  const lifetimeMs = lifetimesMs[kind as (typeof proposalKinds)[number]];
  return lifetimeMs === null ? null : Math.min((createdMs as number) + lifetimeMs, Number.MAX_SAFE_INTEGER);
}

/** A stored record with what an older one lacks and what follows from its fields. @throws SyntaxError */
export function readBack(kind: KindName, json: string, nowMs: number): Record<string, unknown> {
  const record = JSON.parse(json) as Record<string, unknown>;
  const { absent }: RecordKind = recordKinds[kind];
  for (const field of Object.keys(absent)) record[field] ??= absent[field];
  return Object.assign(record, derived[kind]?.(record, nowMs));
}

/** For each kind whose stored text can be passed on unread: the fields that an older record may lack, as text has them. */
const passedOn = new Map<KindName, readonly string[]>();
for (const [kind, { absent }] of Object.entries(recordKinds) as [KindName, RecordKind][]) {
  const isPlain = Object.values(absent).every((value) => value === null);
  if (isPlain && derived[kind] === undefined) {
    passedOn.set(
      kind,
      Object.keys(absent).map((field) => `"${field}":`),
    );
  }
}

/** The same as JSON text: what is stored, and after it what has to be added. @throws SyntaxError */
export function readBackJson(kind: KindName, json: string, nowMs: number): string {
  const optional = passedOn.get(kind);
  if (optional === undefined) return readBackText(kind, json, nowMs);
  let text = json;
  for (const field of optional) {
    // Text holds `"field":` where the field is there and nowhere else: inside a string a quote is escaped.
    if (json.lastIndexOf(field) === -1) text = `${text.slice(0, -1)},${field}null}`;
  }
  return text;
}

function readBackText(kind: KindName, json: string, nowMs: number): string {
  const stored = JSON.parse(json) as Fields;
  const { absent }: RecordKind = recordKinds[kind];
  const added: Record<string, unknown> = {};
  for (const field of Object.keys(absent)) {
    if (stored[field] === undefined) added[field] = absent[field];
    else if (stored[field] === null && absent[field] !== null)
      return JSON.stringify(readBack(kind, json, nowMs));
  }
  Object.assign(added, derived[kind]?.(stored, nowMs));
  const text = JSON.stringify(added);
  return text === '{}' ? json : `${json.slice(0, -1)},${text.slice(1)}`;
}

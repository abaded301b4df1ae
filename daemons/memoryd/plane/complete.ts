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

/** For each kind whose stored text can be passed on, the fields that an older record may lack, as they are in the text. */
const passedOn = new Map<KindName, readonly string[]>();
for (const [kind, { absent }] of Object.entries(recordKinds) as [KindName, RecordKind][]) {
  // A field that reads as null is added to the text as it is; the others need a look at what is there.
  const isPlain = Object.values(absent).every((value) => value === null);
  if (isPlain && derived[kind] === undefined)
    passedOn.set(
      kind,
      Object.keys(absent).map((field) => `"${field}":`),
    );
}

/**
 * The same as JSON text. A record in which nothing has to be worked out is not parsed: an object's text holds
 * `"field":` where the field is there and nowhere else, since a quote inside a string is escaped.
 */
export function readBackJson(kind: KindName, json: string, nowMs: number): string {
  const optional = passedOn.get(kind);
  if (optional === undefined) return JSON.stringify(readBack(kind, json, nowMs));
  let text = json;
  for (const field of optional) {
    if (!json.includes(field)) text = `${text.slice(0, -1)},${field}null}`;
  }
  return text;
}

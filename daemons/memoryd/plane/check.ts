/** What a record must be to be stored: everything that is wrong with one is refused here, by field and value. */
import { AppError } from '../../../shared/errors.ts';
import type { Role } from '../../../shared/protocol/method.ts';
import {
  kindNames,
  keyPartBytesMax,
  recordKinds,
  scratchpadBytesMax,
  type KeyPart,
  type KindName,
  type RecordKind,
} from '../../../shared/protocol/records.ts';
import { checkOf, type Check } from '../../../shared/schema-check.ts';
import type { KeyParts } from './keys.ts';

type Fields = Readonly<Record<string, unknown>>;

interface RecordToCheck {
  readonly kind: KindName;
  readonly record: Fields;
  /** The run id beside the record. */
  readonly runId: string | undefined;
  readonly role: Role;
}

const checks = Object.fromEntries(
  kindNames.map((kind) => [kind, checkOf(recordKinds[kind].value)]),
) as Record<KindName, Check>;

/** Rules between the fields of one kind. */
const rules: Partial<Record<KindName, (record: Fields) => void>> = {
  goal_state: checkCounts,
  scratchpad: checkSize,
};

/**
 * The parts of the record's key, but for its sequence.
 * @throws AppError rejected, with `field` and `value`; not-permitted where the role may not say that
 */
export function checkRecord({ kind, record, runId, role }: RecordToCheck): KeyParts {
  if (kind === 'goal_state' && record['satisfied'] === true) checkMaySatisfy(role);
  const fault = checks[kind](record);
  if (fault !== undefined) throw rejected(kind, fault);
  const { key, notBlank, run: runLies }: RecordKind = recordKinds[kind];
  for (const field of notBlank) checkNotBlank(kind, field, record[field]);
  const run = checkRun({ kind, record, runId, role });
  if (runLies === 'beside') checkNotBlank(kind, 'run_id', run);
  const { target, key: name, iteration } = record;
  const parts = { run, target, key: name, iteration } as Record<KeyPart, unknown>;
  for (const part of key) checkKeyPart(kind, part === 'run' ? 'run_id' : part, parts[part]);
  rules[kind]?.(record);
  return parts as KeyParts;
}

/** Refuses what no key can hold. @throws AppError rejected */
export function checkKeyPart(kind: KindName, field: string, value: unknown): void {
  if (typeof value !== 'string' || value.length * 3 <= keyPartBytesMax) return;
  const bytes = Buffer.byteLength(value);
  if (bytes <= keyPartBytesMax) return;
  throw rejected(kind, {
    field,
    message: `is ${bytes} bytes long, over the ${keyPartBytesMax} that a part of a key may have`,
    value,
  });
}

/** Only the gate says that a goal is met, whatever else is right or wrong with the record. */
function checkMaySatisfy(role: Role): void {
  if (role === 'gate') return;
  throw new AppError('not-permitted', `role ${role} may not say that a goal is met: only the gate may`, {
    details: { field: 'satisfied', value: true, role },
  });
}

/** The run of the record, wherever it is said; where it is said twice it must be the same. */
function checkRun({ kind, record, runId }: RecordToCheck): string | undefined {
  const inside = record['run_id'] as string | undefined;
  if (recordKinds[kind].run === 'beside') {
    if (runId !== undefined) return runId;
    throw rejected(kind, { field: 'run_id', message: 'is missing beside the record', value: undefined });
  }
  if (runId === undefined || runId === inside) return inside;
  throw rejected(kind, {
    field: 'run_id',
    message: `beside the record differs from ${JSON.stringify(shown(inside))} inside it`,
    value: runId,
  });
}

const blank = /^[\s\p{White_Space}]*$/u;

function checkNotBlank(kind: KindName, field: string, value: unknown): void {
  if (typeof value === 'string' && blank.test(value)) {
    throw rejected(kind, { field, message: 'is blank', value });
  }
}

function checkCounts(record: Fields): void {
  const { passed, failed, total } = record as { passed: number; failed: number; total: number };
  if (passed + failed <= total) return;
  throw rejected('goal_state', {
    field: 'total',
    message: `is less than passed ${passed} and failed ${failed} together`,
    value: total,
  });
}

function checkSize(record: Fields): void {
  const value = record['value'] as string;
  const bytes = Buffer.byteLength(value);
  if (bytes <= scratchpadBytesMax) return;
  throw rejected('scratchpad', {
    field: 'value',
    message: `is ${bytes} bytes long, over ${scratchpadBytesMax}`,
    value,
  });
}

interface Wrong {
  readonly field: string;
  readonly message: string;
  readonly value: unknown;
}

function rejected(kind: KindName, { field, message, value }: Wrong): AppError {
  const wrong = shown(value) ?? null;
  // An object is named by its field; of the rest the sentence shows what was sent.
  const sent =
    wrong === null || typeof wrong === 'object' || message === 'is missing'
      ? ''
      : `: ${JSON.stringify(wrong)}`;
  return new AppError('rejected', `${kind} not stored: ${field || 'record'} ${message}${sent}`, {
    details: { kind, field: field || 'record', value: wrong },
  });
}

const shownCharsMax = 200;

/** A value short enough for a reply: what is longer is cut, as text. */
function shown(value: unknown): unknown {
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return value;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  if (text === undefined) return undefined;
  if (text.length > shownCharsMax) return `${text.slice(0, shownCharsMax).toWellFormed()}…`;
  return value;
}

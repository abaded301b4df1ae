/** Whether a record of an export may come back as it is: its key fits it, and it is of the shape that its readers know. */
import { AppError } from '../../../shared/errors.ts';
import { exportedPrefixes } from '../../../shared/export-lines.ts';
import { curatedFiles } from '../../../shared/protocol/replies.ts';
import { checkOf } from '../../../shared/schema-check.ts';
import {
  anyObject,
  anything,
  integer,
  list,
  object,
  oneOf,
  text,
  type Schema,
} from '../../../shared/schema.ts';
import { checkRecord } from './check.ts';
import { keyOf, readKey } from './keys.ts';

const whole = integer(0, Number.MAX_SAFE_INTEGER);
const file = oneOf(...curatedFiles);
/** Later versions may add fields. */
const open = (schema: Schema) => checkOf({ ...schema, additionalProperties: true });

/** What lies beside the record plane: history of the curated files, writes that wait, what was forgotten. */
const besideChecks = new Map([
  [
    'mh',
    open(
      object({
        seq: whole,
        file,
        at: text(),
        action: text(),
        by: text(),
        changed: list(anything()),
        entries: list(text()),
      }),
    ),
  ],
  ['mp', open(object({ id: text(), file, at: text(), params: anyObject() }))],
  ['fg', open(object({ atMs: whole }))],
]);

function refuse(field: string, message: string, value: unknown): never {
  throw new AppError('rejected', message, { details: { field, value } });
}

/** @throws AppError rejected */
export function checkExported(key: string, seq: number, value: unknown): void {
  if (!Number.isSafeInteger(seq) || seq < 0) refuse('seq', `${key} has no sequence`, seq);
  if (typeof key !== 'string' || !exportedPrefixes.some((prefix) => key.startsWith(prefix)))
    refuse('record', 'not a key that an export holds', key);
  if (typeof value !== 'object' || value === null) refuse('value', `${key} holds no record`, value);
  const beside = besideChecks.get(key.slice(0, key.indexOf('/')));
  if (beside !== undefined) {
    const fault = beside(value);
    if (fault !== undefined) refuse(fault.field, `${key}: ${fault.field} ${fault.message}`, fault.value);
    return;
  }
  const place = readKey(key);
  if (place === undefined) return refuse('record', `${key} is no key of a record`, key);
  const { kind, ...parts } = place;
  // As the gate, because a ruling comes back as it was; the mark beside it says whence.
  const found = checkRecord({
    kind,
    record: value as Record<string, unknown>,
    runId: parts.run,
    role: 'gate',
  });
  const due = keyOf(kind, { ...parts, ...found });
  if (due !== key) refuse('record', `${key} does not fit its record, whose key is ${due}`, key);
}

/** What each record of a session log may hold, checked where records come from elsewhere. */
import type { SessionRecord } from '../../../shared/protocol/sessions.ts';
import { checkOf, type Check, type Fault } from '../../../shared/schema-check.ts';
import {
  anyObject,
  anything,
  flag,
  integer,
  list,
  object,
  oneOf,
  text,
  type Schema,
} from '../../../shared/schema.ts';

const whole = integer(0, Number.MAX_SAFE_INTEGER);
const speaker = { name: text(), ref: text() };
const toolCall = object({ id: text(), name: text(), arguments: anything() });
const status = oneOf('ok', 'error', 'denied', 'cancelled', 'interrupted');
const outcome = oneOf('answer', 'cancelled', 'limit', 'refused', 'error');
const verdict = oneOf('allow', 'deny');
const tool = object({
  type: oneOf('function'),
  function: object({ name: text(), description: text(), parameters: anyObject() }),
});

export const originSchema = oneOf('person', 'schedule', 'agent');
export const baselineSchema = object({
  system: text(),
  tools: list(tool),
  version: text(),
  tokens: whole,
});

/** Besides `type` and `at`. */
const bodies: Readonly<Record<string, Schema>> = {
  turn: object({ turn: whole, text: text() }, { ...speaker, request_id: text() }),
  assistant: object(
    { turn: whole, step: whole, text: text(), finish: text() },
    { ...speaker, reasoning: text(), calls: list(toolCall), usage: anyObject() },
  ),
  decision: object({ turn: whole, call: text(), verdict, rule: text() }),
  call: object({ turn: whole, call: text(), key: text() }),
  result: object({ turn: whole, call: text(), status, text: text(), bytes: whole }, { cut: flag() }),
  title: object({ title: text() }),
  compact: object({ up_to: whole, text: text() }),
  end: object(
    { turn: whole, outcome },
    { error: object({ code: text(), message: text() }), usage: anyObject() },
  ),
};

/** The body of a record that follows the first; nothing unknown may be in it. */
export const bodyChecks: Readonly<Record<string, Check>> = Object.fromEntries(
  Object.entries(bodies).map(([type, schema]) => [type, checkOf(schema)]),
);

const head = object(
  { id: text(), origin: originSchema, model: text(), baseline: baselineSchema },
  { title: text() },
);
/** A line of a log may have fields of a later version; those that are known must be right. */
const lineChecks = new Map(
  Object.entries({ session: head, ...bodies }).map(([type, schema]) => [
    type,
    checkOf({ ...schema, additionalProperties: true }),
  ]),
);

/** What is wrong with a record of a log: one of another session's, or of the wrong shape. */
export function faultOfLine(record: SessionRecord, id: string): Fault | undefined {
  if ((record.type === 'session') !== (record.seq === 0))
    return {
      field: 'type',
      message: 'must be session in the first record and in no other',
      value: record.type,
    };
  if (record.type === 'session' && record.id !== id)
    return { field: 'id', message: `must be ${id}`, value: record.id };
  if (Number.isNaN(Date.parse(record.at)))
    return { field: 'at', message: 'must be a date', value: record.at };
  const check = lineChecks.get(record.type);
  if (check === undefined)
    return { field: 'type', message: 'is none that a session can hold', value: record.type };
  return check(record);
}

/** _loopkeep/import: conversations from elsewhere become session logs, each whole or not at all and once. */
import {
  isSessionId,
  type Baseline,
  type Origin,
  type SessionBody,
} from '../../../shared/protocol/sessions.ts';
import { ParamsError } from '../../../shared/params-error.ts';
import { checkOf, type Check } from '../../../shared/schema-check.ts';
import { anyObject, anything, flag, integer, list, object, oneOf, text } from '../../../shared/schema.ts';
import type { MemoryLink } from '../memory.ts';
import type { DatedBody } from '../session/session-log.ts';
import type { Sessions } from '../session/sessions.ts';

export interface ImportReply {
  imported: string[];
  /** Sessions that were there already; they are left as they are. */
  known: string[];
}

interface ImportParts {
  readonly sessions: Sessions;
  readonly memory: Pick<MemoryLink, 'updated'>;
  /** For sessions that bring none of their own. */
  readonly baseline: () => Promise<Baseline>;
}

interface ImportedSession {
  readonly id: string;
  readonly title: string | undefined;
  readonly origin: Origin;
  readonly model: string;
  readonly startedAt: string | undefined;
  readonly baseline: Baseline | undefined;
  readonly records: readonly DatedBody[];
}

const importedModel = 'imported';

/** @throws ParamsError, naming session, record and field, before anything is written */
export async function importSessions(
  params: unknown,
  { sessions, memory, baseline }: ImportParts,
): Promise<ImportReply> {
  const given = (params as { sessions?: unknown } | null)?.sessions;
  if (!Array.isArray(given)) throw new ParamsError('sessions', 'sessions must be a list', given);
  const wanted = given.map(sessionOf);
  const reply: ImportReply = { imported: [], known: [] };
  for (const session of wanted) {
    const { id, title, origin, model, startedAt, records } = session;
    if (await sessions.has(id)) {
      reply.known.push(id);
      continue;
    }
    const body: SessionBody = {
      type: 'session',
      id,
      origin,
      ...(title === undefined ? {} : { title }),
      model,
      baseline: session.baseline ?? (await baseline()),
    };
    await sessions.import(id, [startedAt === undefined ? { body } : { body, at: startedAt }, ...records]);
    await sessions.close(id);
    await memory.updated(id);
    reply.imported.push(id);
  }
  return reply;
}

const whole = integer(0, Number.MAX_SAFE_INTEGER);
const speaker = { name: text(), ref: text() };
const toolCall = object({ id: text(), name: text(), arguments: anything() });
const status = oneOf('ok', 'error', 'denied', 'cancelled', 'interrupted');
const outcome = oneOf('answer', 'cancelled', 'limit', 'refused', 'error');
const verdict = oneOf('allow', 'deny');

/** What a record may hold besides `type` and `at`. */
const recordChecks: Readonly<Record<string, Check>> = {
  turn: checkOf(object({ turn: whole, text: text() }, { ...speaker, request_id: text() })),
  assistant: checkOf(
    object(
      { turn: whole, step: whole, text: text(), finish: text() },
      { ...speaker, reasoning: text(), calls: list(toolCall), usage: anyObject() },
    ),
  ),
  decision: checkOf(object({ turn: whole, call: text(), verdict, rule: text() })),
  call: checkOf(object({ turn: whole, call: text(), key: text() })),
  result: checkOf(object({ turn: whole, call: text(), status, text: text(), bytes: whole }, { cut: flag() })),
  title: checkOf(object({ title: text() })),
  compact: checkOf(object({ up_to: whole, text: text() })),
  end: checkOf(
    object(
      { turn: whole, outcome },
      { error: object({ code: text(), message: text() }), usage: anyObject() },
    ),
  ),
};

const tool = object({
  type: oneOf('function'),
  function: object({ name: text(), description: text(), parameters: anyObject() }),
});
const headCheck = checkOf(
  object(
    { id: text(), records: list(anything()) },
    {
      title: text(),
      origin: oneOf('person', 'schedule', 'agent'),
      model: text(),
      startedAt: text(),
      baseline: object({ system: text(), tools: list(tool), version: text(), tokens: whole }),
    },
  ),
);

function sessionOf(value: unknown, at: number): ImportedSession {
  const place = `sessions.${at}`;
  refuse(headCheck(value), place);
  const { id, title, origin, model, startedAt, baseline, records } = value as Partial<ImportedSession> & {
    id: string;
    records: unknown[];
  };
  if (!isSessionId(id)) throw new ParamsError(`${place}.id`, 'id is no id of a session', id);
  return {
    id,
    title,
    origin: origin ?? 'person',
    model: model ?? importedModel,
    startedAt: startedAt === undefined ? undefined : dateOf(startedAt, `${place}.startedAt`),
    baseline,
    records: records.map((record, index) => recordOf(record, `${place}.records.${index}`)),
  };
}

function recordOf(value: unknown, place: string): DatedBody {
  if (typeof value !== 'object' || value === null)
    throw new ParamsError(place, 'a record must be an object', value);
  const { type, at, ...fields } = value as Record<string, unknown>;
  const check =
    typeof type === 'string' && Object.hasOwn(recordChecks, type) ? recordChecks[type] : undefined;
  if (check === undefined)
    throw new ParamsError(`${place}.type`, 'type is none that a session can hold', type);
  refuse(check(fields), place);
  const body = { type, ...fields } as SessionBody;
  return at === undefined ? { body } : { body, at: dateOf(at, `${place}.at`) };
}

function refuse(fault: ReturnType<Check>, place: string): void {
  if (fault === undefined) return;
  const field = fault.field === '' ? place : `${place}.${fault.field}`;
  throw new ParamsError(field, `${field} ${fault.message}`, fault.value);
}

function dateOf(value: unknown, field: string): string {
  const atMs = typeof value === 'string' ? Date.parse(value) : NaN;
  if (Number.isNaN(atMs))
    throw new ParamsError(field, `${field} must be a date such as 2026-11-30T12:00:00.000Z`, value);
  return new Date(atMs).toISOString();
}

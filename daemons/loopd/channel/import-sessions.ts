/** _loopkeep/import: conversations from elsewhere become session logs, each whole or not at all and once. */
import {
  isSessionId,
  type Baseline,
  type Origin,
  type SessionBody,
} from '../../../shared/protocol/sessions.ts';
import { ParamsError } from '../../../shared/params-error.ts';
import { checkOf, type Check } from '../../../shared/schema-check.ts';
import { anything, list, object, text } from '../../../shared/schema.ts';
import type { MemoryLink } from '../memory.ts';
import type { DatedBody } from '../session/session-log.ts';
import type { Sessions } from '../session/sessions.ts';
import { isLog, logPieceOf, type ArrivingLogs, type LogPiece } from './import-logs.ts';
import { baselineSchema, bodyChecks, originSchema } from './record-checks.ts';

export interface ImportReply {
  imported: string[];
  /** Sessions that were there already; they are left as they are. */
  known: string[];
}

interface ImportParts {
  readonly sessions: Sessions;
  readonly memory: Pick<MemoryLink, 'updated'>;
  /** Logs of an export, which may come in pieces over several requests. */
  readonly logs: ArrivingLogs;
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
  { sessions, memory, logs, baseline }: ImportParts,
): Promise<ImportReply> {
  const given = (params as { sessions?: unknown } | null)?.sessions;
  if (!Array.isArray(given)) throw new ParamsError('sessions', 'sessions must be a list', given);
  const wanted = given.map((session, at) =>
    isLog(session) ? logPieceOf(session, `sessions.${at}`) : sessionOf(session, at),
  );
  const reply: ImportReply = { imported: [], known: [] };
  for (const session of wanted) {
    if ('offset' in session) {
      await importLog(session, { logs, memory }, reply);
      continue;
    }
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

async function importLog(
  piece: LogPiece,
  { logs, memory }: Pick<ImportParts, 'logs' | 'memory'>,
  reply: ImportReply,
): Promise<void> {
  const taken = await logs.take(piece);
  if (taken === 'known') reply.known.push(piece.id);
  if (taken !== 'imported') return;
  await memory.updated(piece.id);
  reply.imported.push(piece.id);
}

const headCheck = checkOf(
  object(
    { id: text(), records: list(anything()) },
    {
      title: text(),
      origin: originSchema,
      model: text(),
      startedAt: text(),
      baseline: baselineSchema,
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
  const check = typeof type === 'string' && Object.hasOwn(bodyChecks, type) ? bodyChecks[type] : undefined;
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

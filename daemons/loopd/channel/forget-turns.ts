/** _loopkeep/forget: takes sessions, turns, or every turn that holds a text out of the logs, and says who still holds it. */
import { toAppError } from '../../../shared/errors.ts';
import { ParamsError } from '../../../shared/params-error.ts';
import type { SessionRecord } from '../../../shared/protocol/sessions.ts';
import { checkOf } from '../../../shared/schema-check.ts';
import { flag, integer, list, object, text, type Infer } from '../../../shared/schema.ts';
import type { MemoryLink } from '../memory.ts';
import { turnOf } from '../session/history.ts';
import type { Sessions } from '../session/sessions.ts';
import type { LiveSessions } from './live-sessions.ts';
import { turnReport } from './turn-report.ts';

const turnsMax = 100_000;
const textCharsMin = 3;
const pageSize = 500;
/** A shorter text stands in many baselines by chance. */
const needleCharsMin = 8;
const needlesMax = 1_000;

const params = object(
  {},
  {
    session: text(),
    turns: list(integer(0, Number.MAX_SAFE_INTEGER), { minItems: 1, maxItems: turnsMax }),
    text: text(),
    dry_run: flag(),
  },
);
const check = checkOf(params);

interface ForgetLogsReply {
  dry_run: boolean;
  /** `turns` is absent where the session goes whole. */
  forgotten: { session: string; turns?: number[] }[];
  /** Sessions whose frozen baseline holds something of it; a baseline is never changed. */
  baselines: string[];
  /** Logs that could not be searched, with the code of the reason. */
  unreadable?: { session: string; code: string }[];
}

interface ForgetParts {
  readonly sessions: Sessions;
  readonly live: LiveSessions;
  readonly memory: Pick<MemoryLink, 'updated'>;
}

/** @throws AppError session-unknown, session-busy, session-damaged, session-write-failed; ParamsError */
export async function forgetTurns(given: unknown, parts: ForgetParts): Promise<ForgetLogsReply> {
  const wanted = wantedOf(given);
  const isDry = wanted.dry_run === true;
  const ids = wanted.session === undefined ? await allIds(parts.sessions) : [wanted.session];
  const needles = new Set<string>();
  if (wanted.text !== undefined) needles.add(folded(wanted.text));
  const forgotten: ForgetLogsReply['forgotten'] = [];
  const unreadable: { session: string; code: string }[] = [];
  for (const id of ids) {
    const found = await search(parts.sessions, id, wanted).catch((thrown: unknown) => {
      // One damaged log does not protect what stands in the others.
      if (wanted.session !== undefined) throw thrown;
      unreadable.push({ session: id, code: toAppError(thrown).code });
      return { turns: [], needles: [] };
    });
    const isWhole = wanted.turns === undefined && wanted.text === undefined;
    if (!isWhole && found.turns.length === 0) continue;
    for (const needle of found.needles) if (needles.size < needlesMax) needles.add(needle);
    forgotten.push(isWhole ? { session: id } : { session: id, turns: found.turns });
  }
  if (!isDry) for (const one of forgotten) await forgetOne(one, parts);
  const gone = new Set(forgotten.filter(({ turns }) => turns === undefined).map(({ session }) => session));
  const baselines = await baselinesWith(parts.sessions, needles, gone);
  return { dry_run: isDry, forgotten, baselines, ...(unreadable.length > 0 ? { unreadable } : {}) };
}

function wantedOf(given: unknown): Infer<typeof params> {
  const fault = check(given);
  if (fault !== undefined) throw new ParamsError(fault.field, `${fault.field} ${fault.message}`, fault.value);
  const wanted = given as Infer<typeof params>;
  if (wanted.session === undefined && wanted.text === undefined) {
    throw new ParamsError('session', 'session or text must say what to forget');
  }
  if (wanted.turns !== undefined && wanted.session === undefined) {
    throw new ParamsError('session', 'turns are those of one session: name it');
  }
  if (wanted.text !== undefined && folded(wanted.text).length < textCharsMin) {
    throw new ParamsError('text', `text must have at least ${textCharsMin} characters`, wanted.text);
  }
  return wanted;
}

async function forgetOne(
  { session, turns }: ForgetLogsReply['forgotten'][number],
  { sessions, live, memory }: ForgetParts,
): Promise<void> {
  if (turns === undefined) return live.delete(session);
  await live.exclusively(session, () => sessions.forget(session, new Set(turns)));
  await memory.updated(session);
}

interface Found {
  readonly turns: number[];
  /** What baselines could hold of it: what was said, and what was written to memory. */
  readonly needles: readonly string[];
}

async function search(sessions: Sessions, id: string, { turns, text }: Infer<typeof params>): Promise<Found> {
  const session = await sessions.open(id);
  const asked = turns === undefined ? undefined : new Set(turns);
  const needle = text === undefined ? undefined : folded(text);
  const found = new Set<number>();
  const needles = new Set<string>();
  let held: SessionRecord[] = [];
  let heldTurn: number | undefined;
  const settle = () => {
    const isHit =
      heldTurn !== undefined &&
      (asked?.has(heldTurn) ?? true) &&
      (needle === undefined ||
        held.some((record) => spokenOf(record).some((said) => folded(said).includes(needle))));
    if (isHit && heldTurn !== undefined) {
      found.add(heldTurn);
      for (const one of needlesOf(held)) if (needles.size < needlesMax) needles.add(one);
    }
    held = [];
  };
  for await (const record of session.log.records()) {
    const turn = turnOf(record);
    if (turn === undefined) continue;
    if (turn !== heldTurn) settle();
    heldTurn = turn;
    held.push(record);
  }
  settle();
  return { turns: [...found], needles: [...needles] };
}

/** What somebody said, called or was answered in a record. */
function spokenOf(record: SessionRecord): string[] {
  switch (record.type) {
    case 'turn':
      return [record.text, record.name ?? ''];
    case 'assistant':
      return [record.text, record.reasoning ?? '', record.name ?? '', JSON.stringify(record.calls ?? [])];
    case 'result':
      return [record.text];
    default:
      return [];
  }
}

function needlesOf(records: readonly SessionRecord[]): string[] {
  const said = records.flatMap((record) => (record.type === 'turn' ? [record.text] : []));
  const written = turnReport(records).memory.flatMap(({ changed }) =>
    changed.map(({ after }) => after ?? ''),
  );
  return [...said, ...written].map(folded).filter((needle) => needle.length >= needleCharsMin);
}

async function baselinesWith(
  sessions: Sessions,
  needles: ReadonlySet<string>,
  gone: ReadonlySet<string>,
): Promise<string[]> {
  const holding: string[] = [];
  if (needles.size === 0) return holding;
  for (const id of await allIds(sessions)) {
    if (gone.has(id)) continue;
    const session = await sessions.open(id).catch(() => undefined);
    const system = folded(session?.history.session.baseline.system ?? '');
    if ([...needles].some((needle) => system.includes(needle))) holding.push(id);
  }
  return holding;
}

async function allIds(sessions: Sessions): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await sessions.list({ limit: pageSize, ...(cursor === undefined ? {} : { cursor }) });
    ids.push(...page.sessions.map(({ id }) => id));
    cursor = page.next;
  } while (cursor !== undefined);
  return ids;
}

function folded(value: string): string {
  return value.normalize('NFKC').toLowerCase().replaceAll(/\s+/g, ' ').trim();
}

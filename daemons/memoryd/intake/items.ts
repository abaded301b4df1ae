/** What of a record can be found: session records and records of runs into items of the recall index. Pure. */
import type { RecordOf } from '../../../shared/protocol/records.ts';
import type { SessionRecord, SessionRecordOf } from '../../../shared/protocol/sessions.ts';
import { redactSecrets } from '../../../shared/secrets.ts';
import type { Container, Item, SessionFacts } from '../recall/item.ts';

/**
 * The item of a session record: what the person, the assistant or a tool said. Undefined for everything else:
 * the baseline, reasoning, decisions, titles and compactions would come back as history, which they are not.
 */
export function itemOfRecord(record: SessionRecord, locator: string): Item | undefined {
  switch (record.type) {
    case 'turn':
      return spoken(record, 'person', locator);
    case 'assistant':
      return spoken(record, 'assistant', locator);
    case 'result':
      return resultItem(record, locator);
    default:
      return undefined;
  }
}

function spoken(
  record: SessionRecordOf<'turn'> | SessionRecordOf<'assistant'>,
  role: 'person' | 'assistant',
  locator: string,
): Item | undefined {
  const text = findable(record.text);
  if (text === undefined) return undefined;
  const { seq, turn, at, name, ref } = record;
  return {
    source: 'message',
    record: seq,
    ...(Number.isSafeInteger(turn) ? { turn } : {}),
    atMs: Date.parse(at),
    role,
    ...(typeof name === 'string' ? { name: name.toWellFormed() } : {}),
    ...(typeof ref === 'string' ? { ref: ref.toWellFormed() } : {}),
    text,
    locator,
  };
}

/** The text of a call that did not run to its end is the loop's own sentence, not what a tool found. */
function resultItem(record: SessionRecordOf<'result'>, locator: string): Item | undefined {
  if (record.status !== 'ok' && record.status !== 'error') return undefined;
  const text = findable(record.text);
  if (text === undefined) return undefined;
  const { seq, turn, at } = record;
  return {
    source: 'tool',
    record: seq,
    ...(Number.isSafeInteger(turn) ? { turn } : {}),
    atMs: Date.parse(at),
    role: 'tool',
    text,
    locator,
  };
}

type Episode = RecordOf<'episode'>;
type Summary = RecordOf<'summary'>;

/** What a node put out; of one that failed without a word, its error. */
export function itemOfEpisode(episode: Episode, seq: number, locator: string): Item | undefined {
  const output = episode.output.trim() === '' ? (episode.error ?? '') : episode.output;
  return runItem({ source: 'episode', seq, locator, atMs: episode.created_ms, text: output });
}

export function itemOfSummary(summary: Summary, seq: number, locator: string): Item | undefined {
  const { headline, facts, narrative, created_ms } = summary;
  const text = [headline, ...facts, narrative ?? ''].filter((part) => part.trim() !== '').join('\n');
  return runItem({ source: 'summary', seq, locator, atMs: created_ms, text });
}

interface RunText {
  readonly source: 'episode' | 'summary';
  readonly seq: number;
  readonly locator: string;
  readonly atMs: number;
  readonly text: string;
}

function runItem({ source, seq, locator, atMs, text }: RunText): Item | undefined {
  const shown = findable(text);
  if (shown === undefined) return undefined;
  return { source, record: seq, atMs, role: 'run', text: shown, locator };
}

/** Whole characters, no secrets; undefined where nothing is said. */
function findable(text: string): string | undefined {
  return text.trim() === '' ? undefined : redactSecrets(text.toWellFormed());
}

/** A log whose header is gone or unreadable is taken for a person's: it must not be found below what it is. */
export function factsOf(session: string, first: SessionRecord | undefined): SessionFacts {
  const origin = first?.type === 'session' ? first.origin : undefined;
  const isKnown = origin === 'schedule' || origin === 'agent';
  return {
    kind: 'session',
    id: session,
    origin: isKnown ? origin : 'person',
    startedMs: first === undefined ? 0 : Date.parse(first.at),
  };
}

export function sessionOf(id: string): Container {
  return { kind: 'session', id };
}

export function runOf(id: string): Container {
  return { kind: 'run', id };
}

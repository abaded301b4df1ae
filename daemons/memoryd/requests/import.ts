/** import: records and files of an export, once each; the only way in which a ruling comes from another role than the gate. */
import { AppError } from '../../../shared/errors.ts';
import { exportedPrefixes, type ExportLine } from '../../../shared/export-lines.ts';
import { ParamsError } from '../../../shared/params-error.ts';
import { type MemorydProtocol } from '../../../shared/protocol/memoryd.ts';
import { curatedFiles, type CuratedFile } from '../../../shared/protocol/replies.ts';
import type { Call, Params, Result } from '../../../shared/protocol/method.ts';
import type { MemorydContext } from '../context.ts';
import { checkRecord } from '../plane/check.ts';
import { keyOf, readKey } from '../plane/keys.ts';
import type { RecordOperation } from '../store/record-store.ts';

type Reply = Result<MemorydProtocol, 'import'>;
type RecordLine = Extract<ExportLine, { record: string }>;

/** Beside an imported ruling, so that it can be told from one that the gate wrote here. */
export const importedMark = (key: string) => `im/${key}`;

export function importLines(
  params: Params<MemorydProtocol, 'import'>,
  context: MemorydContext,
  { role, method }: Call,
): Promise<Reply> {
  return context.requests.once<Reply>({ role, method }, params, async (remember) => {
    const lines = params.lines.map((line, at) => lineOf(line, at));
    const total = { stored: 0, known: 0 };
    const operations: RecordOperation[] = [];
    let last = 0;
    for (const line of lines) {
      if (!('record' in line)) continue;
      const puts = putsOf(line, context);
      if (puts.length === 0) total.known += 1;
      else total.stored += 1;
      operations.push(...puts);
      last = Math.max(last, line.seq);
    }
    context.store.advanceTo(last);
    for (const line of lines) {
      if (!('file' in line)) continue;
      if (await context.curated.restore(fileOf(line.file), line.text)) total.stored += 1;
      else total.known += 1;
    }
    const reply: Reply = total;
    await context.store.commit([...operations, ...remember(reply)], { sync: true });
    for (const operation of operations) tellIndex(operation, context);
    return reply;
  });
}

function lineOf(text: string, at: number): ExportLine {
  try {
    return JSON.parse(text) as ExportLine;
  } catch {
    throw new ParamsError(`lines.${at}`, `lines.${at} is not JSON`, text);
  }
}

function fileOf(name: string): CuratedFile {
  const file = curatedFiles.find((known) => known === name);
  if (file === undefined)
    throw new AppError('rejected', `there is no curated file ${name}`, {
      details: { field: 'file', value: name },
    });
  return file;
}

function tellIndex(operation: RecordOperation, { onRecord }: MemorydContext): void {
  if (operation.type === 'del' || operation.seq === undefined) return;
  const { key, json, seq } = operation;
  const kind = readKey(key)?.kind;
  if (kind !== undefined) onRecord?.({ kind, key, seq, record: JSON.parse(json) as Record<string, unknown> });
}

/** The writes of one line; none where the same record is there already. @throws AppError rejected */
function putsOf(
  { record: key, seq, value }: RecordLine,
  { store, nowMs }: MemorydContext,
): RecordOperation[] {
  check(key, seq, value);
  const json = JSON.stringify(value);
  const known = store.get(key);
  if (known?.json === json) return [];
  if (known !== undefined) {
    throw new AppError('rejected', `another record is at ${key} here; nothing of it was changed`, {
      details: { field: 'record', value: key },
    });
  }
  const put = { type: 'put', key, json, seq } as const;
  const isRuling = key.startsWith('gs/') && (value as { satisfied?: unknown }).satisfied === true;
  if (!isRuling) return [put];
  const mark = JSON.stringify({ imported_ms: nowMs() });
  return [put, { type: 'put', key: importedMark(key), json: mark }];
}

function check(key: string, seq: number, value: unknown): void {
  const refuse = (field: string, message: string, wrong: unknown): never => {
    throw new AppError('rejected', message, { details: { field, value: wrong } });
  };
  if (!Number.isSafeInteger(seq) || seq < 0) refuse('seq', `${key} has no sequence`, seq);
  if (typeof key !== 'string' || !exportedPrefixes.some((prefix) => key.startsWith(prefix)))
    refuse('record', 'not a key that an export holds', key);
  if (typeof value !== 'object' || value === null) refuse('value', `${key} holds no record`, value);
  const place = readKey(key);
  if (place === undefined) return;
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

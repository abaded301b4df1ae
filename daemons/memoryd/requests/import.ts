/** import: records and files of an export, once each; the only way in which a ruling comes from another role than the gate. */
import { AppError } from '../../../shared/errors.ts';
import type { ExportLine } from '../../../shared/export-lines.ts';
import { ParamsError } from '../../../shared/params-error.ts';
import type { MemorydProtocol } from '../../../shared/protocol/memoryd.ts';
import { curatedFiles, type CuratedFile } from '../../../shared/protocol/replies.ts';
import type { Call, Params, Result } from '../../../shared/protocol/method.ts';
import type { MemorydContext } from '../context.ts';
import { checkExported } from '../plane/check-exported.ts';
import { importedMark } from '../plane/imported-mark.ts';
import { readKey } from '../plane/keys.ts';
import type { RecordOperation } from '../store/record-store.ts';

type Reply = Result<MemorydProtocol, 'import'>;
type RecordLine = Extract<ExportLine, { record: string }>;

const forgottenPrefix = 'fg/';

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
    // The history before its file: a file that holds what its newest change says is that change, and no new one.
    await store(operations, context);
    for (const line of lines) {
      if (!('file' in line)) continue;
      if (await context.curated.restore(fileOf(line.file), line.text)) total.stored += 1;
      else total.known += 1;
    }
    if (operations.some(({ key }) => key.startsWith(forgottenPrefix))) await context.intake.reloadForgotten();
    const reply: Reply = total;
    await context.store.commit(remember(reply));
    return reply;
  });
}

async function store(operations: readonly RecordOperation[], context: MemorydContext): Promise<void> {
  if (operations.length === 0) return;
  await context.store.commit(operations, { sync: true });
  for (const operation of operations) tellIndex(operation, context);
}

/** A very long line comes as the value that it says: text within text could be twice as long as a message may be. */
function lineOf(given: unknown, at: number): ExportLine {
  if (typeof given === 'object' && given !== null) return given as ExportLine;
  try {
    const line: unknown = JSON.parse(given as string);
    if (typeof line === 'object' && line !== null) return line as ExportLine;
  } catch {
    // Told below, with what it was.
  }
  throw new ParamsError(`lines.${at}`, `lines.${at} is no line of an export`, given);
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
  { store: records, nowMs }: MemorydContext,
): RecordOperation[] {
  checkExported(key, seq, value);
  const json = JSON.stringify(value);
  const known = records.get(key);
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

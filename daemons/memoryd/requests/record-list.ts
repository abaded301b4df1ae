/** record/list: the records of a kind, of one run or of all, a page at a time. */
import type { Params, Result } from '../../../shared/protocol/method.ts';
import type { MemorydProtocol } from '../../../shared/protocol/memoryd.ts';
import { recordKinds, type KindName } from '../../../shared/protocol/records.ts';
import { RawJson } from '../../../shared/raw-json.ts';
import { checkKeyPart } from '../plane/check.ts';
import { readBackJson } from '../plane/complete.ts';
import type { PlaneContext } from '../plane/context.ts';
import { importedMark, withMark } from '../plane/imported-mark.ts';
import { rangeOf } from '../plane/keys.ts';
import { pageJson, pageOf, unreadable } from '../plane/page.ts';
import type { RecordEntry, StoredEntry } from '../plane/records.ts';

type Reply = RawJson<Result<MemorydProtocol, 'record/list'>>;

const limitDefault = 100;

/** A record that cannot be read is named in `damaged` and hides no other. */
export async function recordList(
  { kind, run_id: run, limit = limitDefault, cursor, order }: Params<MemorydProtocol, 'record/list'>,
  { store, nowMs }: Pick<PlaneContext, 'store' | 'nowMs'>,
): Promise<Reply> {
  if (run !== undefined) checkKeyPart(kind, 'run_id', run);
  const now = nowMs();
  // A kind across runs has no range for a run: the run is looked for inside its records.
  const passesOver = run !== undefined && recordKinds[kind].run === 'none';
  const render = (entry: RecordEntry) => {
    if ('damaged' in entry) return unreadable;
    try {
      if (passesOver && runOf(entry) !== run) return undefined;
      const isImported = kind === 'goal_state' && store.get(importedMark(entry.key)) !== undefined;
      return renderEntry(kind, entry, { now, isImported });
    } catch (thrown) {
      if (thrown instanceof SyntaxError) return unreadable;
      throw thrown;
    }
  };
  const page = await pageOf(store, { range: rangeOf(kind, run), order, cursor, limit, render, passesOver });
  return new RawJson(pageJson('records', page));
}

function runOf({ json }: StoredEntry): unknown {
  return (JSON.parse(json) as { run_id?: unknown }).run_id;
}

function renderEntry(
  kind: KindName,
  { key, seq, json }: StoredEntry,
  { now, isImported }: { now: number; isImported: boolean },
): string {
  const sequence = recordKinds[kind].write === 'append' ? `"seq":${seq},` : '';
  return `{"key":${JSON.stringify(key)},${sequence}"record":${withMark(readBackJson(kind, json, now), isImported)}}`;
}

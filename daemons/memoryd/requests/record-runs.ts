/** record/runs: the runs that have a checkpoint, in key order, a page at a time. */
import type { Params, Result } from '../../../shared/protocol/method.ts';
import type { MemorydProtocol } from '../../../shared/protocol/memoryd.ts';
import { RawJson } from '../../../shared/raw-json.ts';
import type { PlaneContext } from '../plane/context.ts';
import { rangeOf, readKey } from '../plane/keys.ts';
import { pageJson, pageOf } from '../plane/page.ts';

type Reply = RawJson<Result<MemorydProtocol, 'record/runs'>>;

const limitDefault = 1000;

/** The key says the run, so a run whose checkpoint is damaged is listed like any other. */
export async function recordRuns(
  { limit = limitDefault, cursor }: Params<MemorydProtocol, 'record/runs'>,
  { store }: Pick<PlaneContext, 'store'>,
): Promise<Reply> {
  const render = ({ key }: { key: string }) => JSON.stringify(readKey(key)?.run);
  const page = await pageOf(store, { range: rangeOf('checkpoint'), cursor, limit, render });
  return new RawJson(pageJson('runs', page));
}

/** record/carry: the last summaries of a run as text, oldest first, for the iteration that comes next. */
import type { Params, Result } from '../../../shared/protocol/method.ts';
import type { MemorydProtocol } from '../../../shared/protocol/memoryd.ts';
import { renderSummary, type Summary } from '../plane/carry.ts';
import { checkKeyPart } from '../plane/check.ts';
import { readBack } from '../plane/complete.ts';
import type { PlaneContext } from '../plane/context.ts';
import { rangeOf } from '../plane/keys.ts';
import { pagesOf, readEach } from '../plane/read-each.ts';

/** What is carried is at most this long; older summaries are left out, and counted, but never the last one. */
const textBytesMax = 1024 * 1024;

/** `depth` counts the summaries that there are: one that cannot be read is named and takes its place. */
export async function recordCarry(
  { run_id: run, depth }: Params<MemorydProtocol, 'record/carry'>,
  { store, nowMs }: Pick<PlaneContext, 'store' | 'nowMs'>,
): Promise<Result<MemorydProtocol, 'record/carry'>> {
  checkKeyPart('summary', 'run_id', run);
  const texts: string[] = [];
  let bytes = 0;
  let leftOut = 0;
  const range = rangeOf('summary', run);
  const last = { ...range, reverse: true, limit: depth };
  const damaged = await readEach(pagesOf(store, range, last), ({ json }) => {
    const text = renderSummary(readBack('summary', json, nowMs()) as unknown as Summary);
    bytes += Buffer.byteLength(text);
    if (texts.length > 0 && bytes > textBytesMax) leftOut += 1;
    else texts.push(text);
  });
  return {
    text: texts.toReversed().join('\n\n'),
    ...(leftOut === 0 ? {} : { left_out: leftOut }),
    ...(damaged.length === 0 ? {} : { damaged }),
  };
}

/** loopctl probe, reindex, verify, compact: work that an operator asks of memoryd. */
import { AppError } from '../../../shared/errors.ts';
import type { Run } from '../command.ts';

/** Long work on a large store has no other limit than this. */
const longMs = 6 * 60 * 60 * 1000;

export const probe: Run = async ({ memory, out }) => {
  const reply = await memory().call('probe', {}, { timeoutMs: longMs });
  out.result(reply, () =>
    [...reply.steps.map(({ step, ms }) => `ok  ${step}  ${ms.toFixed(1)} ms`), 'probe: ok'].join('\n'),
  );
};

export const reindex: Run = async ({ memory, out }) => {
  const reply = await memory().call('reindex', {}, { timeoutMs: longMs });
  out.result(reply, () => `index ${reply.state}: ${reply.records} records`);
};

export const verify: Run = async ({ memory, out }) => {
  const reply = await memory().call('verify', {}, { timeoutMs: longMs });
  out.result(reply, () =>
    [
      `${reply.records} records read, ${reply.damaged.length} damaged`,
      ...reply.damaged.map((key) => `damaged: ${key}`),
      `index ${reply.index.equal ? 'equals' : 'differs from'} a rebuild`,
      ...reply.index.differences,
      `verify: ${reply.ok ? 'ok' : 'FAULT'}`,
    ].join('\n'),
  );
  if (reply.damaged.length > 0)
    throw new AppError('store-damaged', `${reply.damaged.length} records cannot be read`);
  if (!reply.ok) throw new AppError('memory-index-damaged', 'the index differs from a rebuild');
};

export const compact: Run = async ({ memory, out }) => {
  const reply = await memory().call('compact', {}, { timeoutMs: longMs });
  out.result(reply, () => `${reply.before} bytes before, ${reply.after} after`);
};

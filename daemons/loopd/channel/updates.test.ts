/** Goal: a client learns which runbook entry explains a call that failed. Method: records as a log replays them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ResultStatus } from '../../../shared/protocol/sessions.ts';
import { recordUpdates } from './updates.ts';

const metaOf = (status: ResultStatus) => {
  const record = {
    v: 1,
    seq: 4,
    at: '2026-11-30T00:00:00.000Z',
    type: 'result',
    turn: 1,
    call: 'c1',
  } as const;
  return recordUpdates({ ...record, status, text: '', bytes: 0 })[0]?._meta;
};

test('a call that was denied and one that failed name their entries; one that worked names none', () => {
  assert.deepEqual(metaOf('denied'), { status: 'denied', code: 'tool-denied', runbook: 'tool-denied' });
  assert.deepEqual(metaOf('error'), { status: 'error', code: 'tool-failed', runbook: 'tool-failed' });
  assert.deepEqual(metaOf('ok'), { status: 'ok' });
});

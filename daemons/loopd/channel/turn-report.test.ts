import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SessionBody, SessionRecord } from '../../../shared/protocol/sessions.ts';
import { turnReport } from './turn-report.ts';

const record = (body: SessionBody, seq = 1): SessionRecord => ({
  v: 1,
  seq,
  at: '2026-11-30T00:00:00.000Z',
  ...body,
});
const step = (text: string, ...names: string[]) =>
  record({
    type: 'assistant',
    turn: 1,
    step: 0,
    text,
    finish: 'stop',
    calls: names.map((name, at) => ({ id: `${name}${at}`, name, arguments: { action: 'add' } })),
  });
const result = (call: string, text: string, status: 'ok' | 'error' = 'ok') =>
  record({ type: 'result', turn: 1, call, status, text, bytes: text.length });
const changed = [{ before: 'old', after: 'new' }];
const saved = JSON.stringify({ ok: true, file: 'user', changed });

test('each write of the turn is told with its file and what changed', () => {
  assert.deepEqual(turnReport([step('', 'memory'), result('memory0', saved), step('Saved to memory.')]), {
    memory: [{ file: 'user', changed }],
  });
});

test('a view, a duplicate, the result of another tool and a repeated result are no writes', () => {
  const none = JSON.stringify({ ok: true, file: 'user', changed: [] });
  const repeated = `Same call as before, not run again. Its result was:\n\n${saved}`;
  const records = [
    step('', 'memory', 'memory', 'call_tool'),
    result('memory0', none),
    result('memory1', repeated),
    result('call_tool2', saved),
  ];

  assert.deepEqual(turnReport(records).memory, []);
});

test('a refusal that was made good later in the turn is none', () => {
  const full = JSON.stringify({ error: 'memory-full', file: 'memory' });
  const refused = [step('', 'memory', 'memory'), result('memory0', full, 'error')];

  assert.deepEqual(turnReport(refused).memory_refused, [{ code: 'memory-full', file: 'memory' }]);
  assert.equal(turnReport([...refused, result('memory1', saved)]).memory_refused, undefined);
});

test('a refusal names the file that was meant, and one that comes again and again is told once', () => {
  const full = JSON.stringify({ error: 'memory-full', message: 'no room' });
  const records = [
    step('', 'memory', 'memory'),
    result('memory0', full, 'error'),
    result('memory1', full, 'error'),
  ];

  assert.deepEqual(turnReport(records).memory_refused, [{ code: 'memory-full', file: 'memory' }]);
});

test('a result that is not whole, or no JSON, does no harm', () => {
  for (const text of [
    '{"ok":true,"file":"us\n[… cut …]\n',
    '',
    'null',
    '{"ok":true,"file":7,"changed":"x"}',
  ]) {
    assert.deepEqual(turnReport([step('', 'memory'), result('memory0', text)]), { memory: [] });
  }
});

/** What the fuzzer says to each daemon when it says something right. */
import fc from 'fast-check';
import { kindNames } from '../../../shared/protocol/records.ts';
import type { Sentence } from './wire-grammar.ts';

const text = fc.string({ unit: 'grapheme', maxLength: 30 });
const kind = fc.constantFrom(...kindNames);
const run = fc.constantFrom('r', 'r/1', 'ünï', '%', 'r'.repeat(600));
const count = fc.integer({ min: 0, max: 100 });
const session = fc.constantFrom('s', '../s', 's'.repeat(128), 'nobody');

const ledger = fc.record({
  run_id: run,
  iteration: count,
  kind: fc.constant('run_started'),
  detail: text,
  created_ms: count,
});
const pad = fc.record({ run_id: run, key: text, value: text });

export const memorydSentences: readonly Sentence[] = [
  { method: 'block', fields: {}, weight: 2 },
  { method: 'status', fields: {}, weight: 1 },
  { method: 'nothing', fields: { a: text }, weight: 1 },
  { method: 'constructor', fields: {}, weight: 1 },
  { method: 'verify', fields: {}, weight: 1 },
  { method: 'record/put', fields: { kind: fc.constant('ledger'), record: ledger }, weight: 3 },
  {
    method: 'record/put',
    fields: { kind: fc.constant('scratchpad'), record: pad, request_id: text },
    weight: 2,
  },
  {
    method: 'record/get',
    fields: { kind, run_id: run, target: text, key: text, iteration: count },
    weight: 3,
  },
  {
    method: 'record/list',
    fields: { kind, run_id: run, limit: fc.integer({ min: 1, max: 5 }), cursor: text },
    weight: 3,
  },
  {
    method: 'record/list',
    fields: { kind, limit: fc.constant(3), order: fc.constantFrom('asc', 'desc') },
    weight: 2,
  },
  { method: 'record/runs', fields: { limit: fc.constant(2) }, weight: 1 },
  { method: 'record/carry', fields: { run_id: run, depth: count }, weight: 1 },
  { method: 'recall', fields: { query: text, limit: fc.constant(2), since: text, session }, weight: 1 },
  { method: 'recall', fields: { query: text, limit: fc.constant(2) }, weight: 1 },
  { method: 'updated', fields: { session }, weight: 1 },
  {
    method: 'memory',
    fields: {
      action: fc.constantFrom('view', 'remove', 'undo', 'replace'),
      file: fc.constant('memory'),
      old: text,
    },
    weight: 1,
  },
];

const cwd = fc.constant('/');
const mcpServers = fc.constant([]);
const prompt = fc.array(fc.record({ type: fc.constantFrom('text', 'image'), text }), { maxLength: 2 });

export const channelSentences: readonly Sentence[] = [
  {
    method: 'initialize',
    fields: { protocolVersion: count, clientCapabilities: fc.constant({}) },
    weight: 3,
  },
  { method: 'session/list', fields: { cursor: text }, weight: 2 },
  { method: 'session/load', fields: { sessionId: session, cwd, mcpServers }, weight: 3 },
  { method: 'session/resume', fields: { sessionId: session, cwd }, weight: 2 },
  { method: 'session/close', fields: { sessionId: session }, weight: 2 },
  { method: 'session/delete', fields: { sessionId: session }, weight: 2 },
  { method: 'session/cancel', fields: { sessionId: session }, weight: 2 },
  { method: 'session/prompt', fields: { sessionId: session, prompt }, weight: 4 },
  { method: '_loopkeep/status', fields: {}, weight: 1 },
  { method: '_loopkeep/forget', fields: { session, turns: fc.constant([1]) }, weight: 1 },
  { method: '_loopkeep/nothing', fields: {}, weight: 1 },
  { method: 'toString', fields: {}, weight: 1 },
];

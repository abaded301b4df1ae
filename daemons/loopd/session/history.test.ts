/** What a running session keeps in memory, and that it stays bounded. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SessionBody, SessionRecord } from '../../../shared/protocol/sessions.ts';
import { scriptedBaseline } from '../testing/scripted-turn.ts';
import { History } from './history.ts';

function* records(bodies: SessionBody[]): Generator<SessionRecord> {
  const first: SessionBody = {
    type: 'session',
    id: 's',
    origin: 'person',
    model: 'm',
    baseline: scriptedBaseline,
  };
  for (const [seq, body] of [first, ...bodies].entries())
    yield { v: 1, seq, at: '2026-01-01T00:00:00.000Z', ...body };
}

const turnOfText = (turn: number, text: string): SessionBody[] => [
  { type: 'turn', turn, text, request_id: `r${turn}` },
  { type: 'assistant', turn, step: 0, text, finish: 'stop' },
  { type: 'end', turn, outcome: 'answer' },
];

test('the oldest turns are let go above a bound, never the newest, and are counted', () => {
  const bodies = Array.from({ length: 40 }, (_, n) => turnOfText(n + 1, 'x'.repeat(500))).flat();

  const history = new History(records(bodies), { charactersMax: 10_000 });

  const turns = history.records.flatMap((record) => (record.type === 'turn' ? [record.turn] : []));
  assert.ok(turns.length <= 10 && turns.length >= 7, String(turns.length));
  assert.equal(turns.at(-1), 40);
  assert.equal(history.droppedTurns, 40 - turns.length);
  const huge = new History(records(turnOfText(1, 'x'.repeat(50_000))), { charactersMax: 10_000 });
  assert.equal(huge.current.length, 3);
});

test('a record is taken once, and types of a later version change nothing', () => {
  const all = [...records([...turnOfText(1, 'a'), { type: 'mood', mood: 'fine' } as unknown as SessionBody])];

  const history = new History([...all, ...all]);

  assert.deepEqual(
    history.records.map(({ type }) => type),
    ['turn', 'assistant', 'end'],
  );
  assert.equal(history.lastSeq, 4);
});

test('an unfinished turn is known as such, and a request by its id', () => {
  const history = new History(
    records([...turnOfText(1, 'a'), { type: 'turn', turn: 2, text: 'b', request_id: 'r2' }]),
  );

  assert.equal(history.hasUnfinishedTurn, true);
  assert.deepEqual(history.request('r1'), { turn: 1, text: 'a' });
  assert.deepEqual(history.request('r2'), { turn: 2, text: 'b' });
  assert.equal(history.request('r3'), undefined);
});

/** The folder of sessions: what a list shows, what is imported, forgotten and deleted, on real files. */
import assert from 'node:assert/strict';
import { appendFile, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import type { SessionBodies } from '../../../shared/protocol/sessions.ts';
import { collected, scriptedBaseline } from '../testing/scripted-turn.ts';
import { promptMessages } from './prompt.ts';
import type { DatedBody } from './session-log.ts';
import { Sessions } from './sessions.ts';

let folder: string;
let sessions: Sessions;
let now: number;
const sync = { sync: true };

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sessions-'));
  now = Date.UTC(2026, 0, 1);
  sessions = new Sessions(folder, { nowMs: () => (now += 1000) });
});
afterEach(async () => {
  await sessions.closeAll();
  await rm(folder, { recursive: true, force: true });
});

const body = (id: string): SessionBodies['session'] => ({
  id,
  origin: 'person',
  model: 'test',
  baseline: scriptedBaseline,
});

async function answered(id: string, ...texts: string[]) {
  const session = (await sessions.has(id)) ? await sessions.open(id) : await sessions.create(body(id));
  for (const text of texts) {
    const { turn } = await session.accept({ text });
    await session.append(
      { type: 'assistant', turn, step: 0, text: `re ${text}`, finish: 'stop' },
      { sync: false },
    );
    await session.append({ type: 'end', turn, outcome: 'answer' }, sync);
  }
  return session;
}

test('a list is ordered by last use, in pages, and shows title or opening', async () => {
  await answered('a', 'first of a');
  await answered('b', 'first of b');
  await (await answered('c', '  what\n is   this? ')).append({ type: 'title', title: 'Title of c' }, sync);
  await answered('a', 'again');

  const one = await sessions.list({ limit: 2 });
  const two = await sessions.list({ limit: 2, cursor: one.next! });

  assert.deepEqual(
    one.sessions.map(({ id, title, opening }) => [id, title ?? opening]),
    [
      ['a', 'first of a'],
      ['c', 'Title of c'],
    ],
  );
  assert.deepEqual(
    two.sessions.map(({ id }) => id),
    ['b'],
  );
  assert.equal(two.next, undefined);
  assert.equal(one.sessions[1]!.opening, 'what is this?');
});

test('a list notices what another life of the daemon wrote, and passes damaged logs over', async () => {
  await answered('a', 'x');
  await sessions.list();
  await sessions.close('a');
  const line = { v: 1, seq: 4, at: '2027-01-01T00:00:00.000Z', type: 'title', title: 'Later' };
  await appendFile(join(folder, 'a.jsonl'), `${JSON.stringify(line)}\n`);
  await writeFile(join(folder, 'b.jsonl'), 'no session');
  await writeFile(join(folder, 'c.jsonl.tmp'), 'half');
  await writeFile(join(folder, 'notes.txt'), 'x');

  const { sessions: listed } = await sessions.list();

  assert.deepEqual(
    listed.map(({ id, title, updatedAt }) => [id, title, updatedAt]),
    [['a', 'Later', '2027-01-01T00:00:00.000Z']],
  );
  await sessions.sweep();
  assert.deepEqual((await readdir(folder)).toSorted(), ['a.jsonl', 'b.jsonl', 'notes.txt']);
});

test('the end of a long log is found for the list, whatever its size', async () => {
  const session = await answered('a', 'x');
  for (let n = 0; n < 3; n += 1)
    await session.append(
      { type: 'result', turn: 1, call: 'c', status: 'ok', text: 'y'.repeat(300_000), bytes: 1 },
      sync,
    );

  const [listed] = (await sessions.list()).sessions;

  assert.equal(listed!.updatedAt, session.history.updatedAt);
});

test('a request_id starts one turn; the same text again is that turn, another text is refused', async () => {
  const session = await sessions.create(body('a'));

  const first = await session.accept({ text: 'x', requestId: 'r1' });
  const again = await session.accept({ text: 'x', requestId: 'r1' });

  assert.deepEqual(
    [first, again],
    [
      { turn: 1, isNew: true },
      { turn: 1, isNew: false },
    ],
  );
  await assert.rejects(session.accept({ text: 'y', requestId: 'r1' }), { code: 'request-reused' });
  await assert.rejects(session.accept({ text: 'z' }), { code: 'session-busy' });
  await sessions.close('a');
  assert.deepEqual(await (await sessions.open('a')).accept({ text: 'x', requestId: 'r1' }), again);
});

test('ids that are no file names, and sessions that are not there, are refused', async () => {
  for (const id of ['../x', '', '.hidden', 'a/b', 'nowhere'])
    await assert.rejects(sessions.open(id), { code: 'session-unknown' });
  await answered('a', 'x');
  await assert.rejects(sessions.create(body('a')), { code: 'rejected' });
  assert.match(sessions.newId(), /^20260101T\d{6}-[0-9a-f]{8}$/);
});

test('an import is one session with the dates it came with, and nothing of it is taken for broken off', async () => {
  const at = '2023-05-08T13:56:00.000Z';
  const records: DatedBody[] = [
    { body: { type: 'session', ...body('old') }, at },
    { body: { type: 'turn', turn: 1, text: 'Hey Mel!', name: 'Caroline', ref: 'D1:1' }, at },
    { body: { type: 'turn', turn: 2, text: 'Hey!', name: 'Melanie', ref: 'D1:2' }, at },
  ];

  const session = await sessions.import('old', records);

  assert.equal(session.history.hasUnfinishedTurn, false);
  assert.ok((await collected(session.log.records())).every((record) => record.at === at));
  await session.accept({ text: 'What did they say?' });
  assert.deepEqual(
    promptMessages(session.history)
      .slice(1)
      .map(({ role, content }) => [role, content]),
    [
      ['user', 'Caroline: Hey Mel!\n\nMelanie: Hey!'],
      ['assistant', '(No answer: cancelled.)'],
      ['user', 'What did they say?'],
    ],
  );
});

test('a forgotten turn is in no byte of the log, with the title and summary made from it', async () => {
  const session = await answered('a', 'SECRET one', 'two', 'three');
  await session.append({ type: 'title', title: 'About SECRET' }, sync);
  await session.append({ type: 'compact', up_to: 6, text: 'They spoke of SECRET.' }, sync);

  const { session: left, forgotten } = await sessions.forget('a', new Set([1, 9]));
  await answered('a', 'four');

  assert.equal(forgotten, 1);
  assert.doesNotMatch(await readFile(join(folder, 'a.jsonl'), 'utf8'), /SECRET/);
  assert.equal(left, await sessions.open('a'));
  await sessions.close('a');
  const again = await sessions.open('a');
  assert.deepEqual(
    (await collected(again.log.records())).map(({ seq, type }) => `${seq} ${type}`).slice(0, 4),
    ['0 session', '1 turn', '2 assistant', '3 end'],
  );
  assert.equal(again.history.turn, 4);
});

test('a summary of older turns stays when a later turn is forgotten', async () => {
  const session = await answered('a', 'one', 'two');
  await session.append({ type: 'compact', up_to: 3, text: 'They spoke of one.' }, sync);
  await answered('a', 'three');

  await sessions.forget('a', new Set([3]));

  const { history } = await sessions.open('a');
  assert.deepEqual([history.compact?.up_to, history.turn], [3, 2]);
  assert.match(JSON.stringify(promptMessages(history)), /They spoke of one/);
});

test('a deleted session is gone, one in use is not deleted', async () => {
  const session = await answered('a', 'x');
  session.isBusy = true;
  await assert.rejects(sessions.delete('a'), { code: 'session-busy' });
  session.isBusy = false;

  await sessions.delete('a');

  assert.equal(await sessions.isEmpty(), true);
  await assert.rejects(sessions.open('a'), { code: 'session-unknown' });
  await assert.rejects(sessions.delete('a'), { code: 'session-unknown' });
});

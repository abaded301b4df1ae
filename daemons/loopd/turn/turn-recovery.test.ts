/** Turns that were broken off: after a crash they go on, and what may have happened is not done again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../../../shared/errors.ts';
import type { SessionBody, SessionRecord } from '../../../shared/protocol/sessions.ts';
import {
  calls,
  checkHistory,
  ScriptedSession,
  type ScriptedStep,
  type ScriptedTool,
} from '../testing/scripted-turn.ts';
import { runTurn } from './turn.ts';

const types = (records: readonly SessionRecord[]) => records.map((record) => record.type).join(' ');

test('a turn that a crash broke off goes on where it was, whatever was the last record', async () => {
  const script = () => [calls(['look'], ['note'], ['send']), { text: 'Done.' }];
  const whole = new ScriptedSession(script());
  await whole.ask('x');

  for (let kept = 2; kept < whole.records.length; kept += 1) {
    const records = whole.records.slice(0, kept);
    const session = new ScriptedSession(
      records.some(({ type }) => type === 'assistant') ? script().slice(1) : script(),
    );
    for (const { v: _v, seq: _seq, at: _at, ...body } of records.slice(1)) session.write(body);
    session.restart();

    const end = await session.run();

    checkHistory(session);
    assert.equal(end.outcome, 'answer', `after ${types(records)}`);
    const intended = records.some((record) => record.type === 'call' && record.call === 'c1.0.2');
    assert.equal(session.ran.filter(({ name }) => name === 'send').length, intended ? 0 : 1);
  }
});

test('an effect whose outcome is unknown is interrupted, a keyed one gets its key again', async () => {
  const session = new ScriptedSession([{ text: 'ok' }]);
  session.say('x');
  session.write({
    type: 'assistant',
    turn: 1,
    step: 0,
    text: '',
    calls: [
      { id: 'c1.0.0', name: 'note', arguments: {} },
      { id: 'c1.0.1', name: 'send', arguments: {} },
    ],
    finish: 'tool_calls',
  });
  session.write({ type: 'call', turn: 1, call: 'c1.0.0', key: 's1/c1.0.0' });
  session.write({ type: 'call', turn: 1, call: 'c1.0.1', key: 's1/c1.0.1' });
  session.restart();

  await session.run();

  assert.deepEqual(session.ran, [{ name: 'note', key: 's1/c1.0.0' }]);
  assert.deepEqual(
    session.ofType('result').map((result) => result.status),
    ['ok', 'interrupted'],
  );
  assert.match(session.requests[0]!.messages.at(-1)!.content, /It was not repeated/);
});

test('a turn whose records could not be written is broken off, and goes on when they can be', async () => {
  const session = new ScriptedSession([calls(['look'], ['send']), { text: 'Next.' }]);
  session.say('x');
  const append: typeof session.effects.append = (...record) => session.effects.append(...record);
  let written = 0;
  const failing = {
    ...session.effects,
    append: (body: SessionBody, options: { sync: boolean }) =>
      (written += 1) > 5 ? Promise.reject(new AppError('store-full', 'no space')) : append(body, options),
  };

  const running = runTurn(session.history, { effects: failing, signal: AbortSignal.any([]) });
  await assert.rejects(running, { code: 'store-full' });
  const end = await session.run();

  checkHistory(session);
  assert.deepEqual([end.outcome, end.text], ['answer', 'Next.']);
  assert.deepEqual(
    session.ofType('result').map((result) => result.status),
    ['ok', 'interrupted'],
  );
});

/** A tool that is taken for one with effects until its server runs, and is then what it says of itself. */
function withSleepingTool(awake: ScriptedTool, steps: ScriptedStep[] = [calls(['look']), { text: 'ok' }]) {
  const tools: Record<string, ScriptedTool> = { look: { effects: 'once' } };
  const session = new ScriptedSession(steps, tools);
  session.prepare = () => void (tools['look'] = awake);
  return session;
}

test('a tool that only reads needs no intent, though nobody knew that before its server ran', async () => {
  const session = withSleepingTool({ effects: 'none' });

  await session.ask('x');

  assert.deepEqual([session.ran.length, session.ofType('call').length], [1, 0]);
});

test('a call is held against the schema that its server gives', async () => {
  const session = withSleepingTool({ effects: 'none', required: ['where'] });

  await session.ask('x');

  assert.deepEqual(
    [session.ran, session.ofType('result').map(({ status, text }) => `${status} ${text}`)],
    [[], ['error Not run: look needs where.']],
  );
});

test('a call that is denied starts no server', async () => {
  const session = withSleepingTool({ effects: 'none' });
  session.decide = () => ({ verdict: 'deny', rule: 'no' });
  session.prepare = () => assert.fail('a server was started');

  await session.ask('x');

  assert.equal(session.ofType('result')[0]?.status, 'denied');
});

test('a call that only reads is run again after a crash, once its server has said so', async () => {
  const session = withSleepingTool({ effects: 'none' }, [{ text: 'ok' }]);
  session.say('x');
  const call = { id: 'c1.0.0', name: 'look', arguments: {} };
  session.write({ type: 'assistant', turn: 1, step: 0, text: '', calls: [call], finish: 'tool_calls' });
  session.write({ type: 'call', turn: 1, call: call.id, key: 's1/c1.0.0' });
  session.restart();

  await session.run();

  assert.equal(session.ofType('result')[0]?.status, 'ok');
});

test('a turn that is cancelled while a server starts does not wait for it', async () => {
  const session = withSleepingTool({ effects: 'none' });
  const abort = new AbortController();
  session.prepare = () => (abort.abort(), new Promise(() => {}));

  const end = await session.ask('x', { signal: abort.signal });

  assert.equal(end.outcome, 'cancelled');
  assert.deepEqual([session.ran, session.ofType('result')[0]?.status], [[], 'cancelled']);
});

/** Goal: what can be found is what was said and done, and nothing that memory itself put in. Method: whole sessions through the intake. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OwnWords } from './own-words.ts';
import { baseline, IntakeFixture } from './testing/intake-fixture.ts';

const assistant = (text: string, ...calls: object[]) => ({
  type: 'assistant',
  turn: 0,
  step: 0,
  text,
  calls,
  finish: 'stop',
});
const call = (id: string, name: string, args: unknown = {}) => ({ id, name, arguments: args });
const result = (id: string, text: string, status = 'ok') => ({
  type: 'result',
  turn: 0,
  call: id,
  status,
  text,
  bytes: text.length,
});

test('messages and results of tools are found, each as what it is', async (t) => {
  const f = await IntakeFixture.create(t);
  f.write('s', {
    type: 'session',
    id: 's',
    origin: 'person',
    model: 'm',
    baseline: baseline('kettle baseline'),
    title: 'kettle title',
  });
  f.write('s', { type: 'turn', turn: 3, text: 'kettle asked', name: 'Ann', ref: 'D1:1' });
  f.write('s', { ...assistant('kettle answered', call('c', 'clock')), reasoning: 'kettle thought', turn: 3 });
  f.write('s', { type: 'decision', turn: 3, call: 'c', verdict: 'allow', rule: 'kettle rule' });
  f.write('s', { type: 'call', turn: 3, call: 'c', key: 'kettle key' });
  f.write('s', result('c', 'kettle time'));
  f.write('s', { type: 'compact', up_to: 1, text: 'kettle compacted' });
  f.write('s', { type: 'title', title: 'kettle named' });
  f.write('s', { type: 'end', turn: 3, outcome: 'error', error: { code: 'x', message: 'kettle error' } });
  await f.start();
  const { hits } = await f.intake.recall({ query: 'kettle' });

  assert.deepEqual(
    hits.map(({ source, role, record, name, ref, text }) => [source, role, record, name, ref, text]),
    [
      ['message', 'person', 1, 'Ann', 'D1:1', 'kettle asked'],
      ['message', 'assistant', 2, undefined, undefined, 'kettle answered'],
      ['tool', 'tool', 5, undefined, undefined, 'kettle time'],
    ],
  );
});

test('results of recall, memory and find_tool are never found, however they were called', async (t) => {
  const f = await IntakeFixture.create(t);
  f.begin('s');
  const calls = [
    call('1', 'recall', { query: 'kettle' }),
    call('2', 'memory'),
    call('3', 'find_tool'),
    call('4', 'call_tool', { name: 'recall', arguments: {} }),
    call('5', 'call_tool', '{"name":"home__memory"}'),
    call('6', 'call_tool', { name: 'device.recall' }),
    call('7', 'call_tool', { name: 'files__read' }),
    call('8', 'call_tool', 'not json'),
  ];
  f.write('s', assistant('', ...calls));
  for (const { id } of calls) f.write('s', result(id, `kettle ${id}`));
  await f.start();

  assert.deepEqual(await f.found('kettle'), ['kettle 7', 'kettle 8']);
});

test('a result of recall that comes in a later reading of the log is not found either', async (t) => {
  const f = await IntakeFixture.caughtUp(t);
  f.begin('s');
  f.write('s', assistant('', call('1', 'recall')));
  await f.intake.updated('s');
  await f.restart();
  f.write('s', result('1', 'kettle'));
  await f.intake.updated('s');

  assert.deepEqual(await f.found('kettle'), []);
});

test('what was answered by rule, from recall and memory, never comes back as history', async (t) => {
  const f = await IntakeFixture.create(t);
  f.begin('s', { model: 'builtin' });
  f.write('s', { type: 'turn', turn: 1, text: 'kettle asked' });
  f.write('s', { ...assistant('kettle quoted'), usage: {} });
  await f.start();
  await f.restart();
  f.write('s', { type: 'turn', turn: 2, text: 'kettle asked again' });
  f.write('s', assistant('kettle quoted again'));
  await f.intake.updated('s');
  const before = await f.found('kettle');
  await f.intake.reindex();

  assert.deepEqual(before, ['kettle asked', 'kettle asked again']);
  assert.deepEqual(await f.found('kettle'), before);
});

test('only the replies by rule are left out of a session that had a model before or since', async (t) => {
  const f = await IntakeFixture.create(t);
  f.begin('attached', { model: 'builtin' });
  f.write('attached', { ...assistant('kettle by rule'), usage: {} });
  f.write('attached', { ...assistant('kettle by a model'), usage: { completion_tokens: 4 } });
  f.begin('detached', { model: 'some.gguf' });
  f.write('detached', { ...assistant('kettle by another model'), usage: { completion_tokens: 4 } });
  f.write('detached', { ...assistant('kettle by rule since'), usage: {} });
  f.begin('brought', { model: 'imported' });
  f.write('brought', assistant('kettle from elsewhere'));
  f.write('brought', { ...assistant('kettle with odd counts'), usage: null });
  await f.start();

  assert.deepEqual(await f.found('kettle'), [
    'kettle by a model',
    'kettle by another model',
    'kettle from elsewhere',
    'kettle with odd counts',
  ]);
});

test("the loop's own sentences for calls that did not run are not found", async (t) => {
  const f = await IntakeFixture.create(t);
  f.begin('s');
  for (const status of ['ok', 'error', 'denied', 'cancelled', 'interrupted'])
    f.write('s', result(status, `kettle ${status}`, status));
  await f.start();

  assert.deepEqual(await f.found('kettle'), ['kettle error', 'kettle ok']);
});

test('secrets are not in the index, and what stands around them is found', async (t) => {
  const f = await IntakeFixture.create(t);
  const secret = `ghp_${'aB3'.repeat(12)}`;
  f.say('s', `the kettle token is ${secret}`);
  await f.start();

  assert.deepEqual(await f.found(secret), []);
  assert.match((await f.found('kettle'))[0] ?? '', /\[redacted/);
});

test('a lone surrogate in a log is repaired on the way', async (t) => {
  const f = await IntakeFixture.create(t);
  f.say('s', 'kettle \ud83d end');
  await f.start();

  assert.deepEqual(await f.found('kettle'), ['kettle \ufffd end']);
});

test('a turn with more calls than are kept forgets the oldest, and ends with the next turn', () => {
  const names = new OwnWords();
  const calls = Array.from({ length: 600 }, (_, at) => call(`${at}`, 'recall'));
  names.take({ ...assistant('', ...calls), v: 1, seq: 1, at: '' } as never);

  assert.equal(names.state.openCalls.length, 512);
  names.take({ type: 'turn', turn: 1, text: '', v: 1, seq: 2, at: '' });
  assert.deepEqual(names.state.openCalls, []);
});

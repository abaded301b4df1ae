/** The fixed responder through the real turn loop: what it calls, what it quotes, and what it does not claim. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { baseline, session } from '../testing/builtin-session.ts';
import { claimsSave } from '../channel/save-claim.ts';
import { respond } from './builtin.ts';
import { intentOf } from './builtin-intent.ts';
import { notesOf } from './notes.ts';

test('"Remember that X" adds X with the memory tool, and says that it is no model', async () => {
  const { made, called } = session();

  const end = await made.ask('Remember that the train leaves at 7:40.');

  assert.deepEqual(called(), [
    ['memory', { action: 'add', file: 'memory', text: 'the train leaves at 7:40' }],
  ]);
  assert.equal(end.outcome, 'answer');
  assert.match(end.text, /^Saved in memory\.md:\n> the train leaves at 7:40\n/);
  assert.match(end.text, /\n\n\(By rule: no language model is connected\.\)$/);
});

test('what is about the person goes to their file', () => {
  const file = (text: string) => {
    const intent = intentOf(text);
    return intent.kind === 'remember' && [intent.file, intent.text];
  };

  assert.deepEqual(file('remember I am allergic to nuts'), ['user', 'I am allergic to nuts']);
  assert.deepEqual(file('Please remember: my name is Kim'), ['user', 'my name is Kim']);
  assert.deepEqual(file('Could you remember that the pot is blue?'), ['memory', 'the pot is blue']);
  assert.deepEqual(file("Don't forget that bins go out on Monday"), ['memory', 'bins go out on Monday']);
  assert.deepEqual(file('Anna: remember that\nwe meet at nine...'), ['memory', 'we meet at nine...']);
});

test('a question is no command, whatever words it holds', () => {
  assert.deepEqual(intentOf('Do you remember the blue pot?'), {
    kind: 'ask',
    query: 'Do you remember the blue pot',
  });
  assert.deepEqual(intentOf('remember when we met?'), { kind: 'ask', query: 'remember when we met' });
  assert.deepEqual(intentOf('What do you know about the blue pot?'), { kind: 'ask', query: 'the blue pot' });
  assert.deepEqual(intentOf('What do you know about me?'), { kind: 'everything' });
  assert.deepEqual(intentOf('what time is it'), { kind: 'time' });
  assert.equal(intentOf('').kind, 'ask');
});

test('a save that was refused is said to be none, and why', async () => {
  const full = { error: 'memory-full', message: 'memory.md would have 2300 of 2200 characters' };
  const { made } = session({ memory: () => ({ status: 'error', text: JSON.stringify(full) }) });
  assert.match((await made.ask('Remember that x')).text, /^Not saved: memory\.md would have 2300 of 2200/);

  const denied = session();
  denied.made.decide = () => ({ verdict: 'deny', rule: 'memory = "deny"' });
  assert.match(
    (await denied.made.ask('Remember that x')).text,
    /^Not saved: Not permitted \(memory = "deny"\)/,
  );

  const double = session({
    memory: () => ({ status: 'ok', text: JSON.stringify({ ok: true, changed: [] }) }),
  });
  assert.match((await double.made.ask('Remember that x')).text, /^That is in memory\.md already/);
});

test('small talk is answered as such, and nothing is looked up for it', async () => {
  const kind = (text: string) => {
    const intent = intentOf(text);
    return intent.kind === 'talk' ? intent.talk : intent.kind;
  };
  const expected = {
    greeting: ['Hello!', 'hi', 'Good morning', 'Hey there', 'Hallo', 'Hello, hello!'],
    who: [
      'Hello! Who are you?',
      'who are you',
      'What are you?',
      'Are you an AI?',
      'Kim: hello, who are you?',
    ],
    help: ['help', '/help', 'Hi. What can you do?', 'How does this work?'],
    thanks: ['Thanks!', 'thank you so much', 'Great, thanks for the help.', 'Danke'],
    farewell: ['Bye!', 'Good night.'],
    nod: ['ok', 'Great!', 'Got it.'],
    ask: [
      'Who are you going to call?',
      'Hi, where is the key?',
      'Thanks to whom?',
      'Hi-fi price',
      'Is this it?',
    ],
    remember: ['Hello! Remember that the pot is blue.'],
  };
  for (const [wanted, texts] of Object.entries(expected))
    for (const text of texts) assert.equal(kind(text), wanted, text);

  const { made, called } = session();
  for (const text of ['Hello! Who are you?', 'hello', 'help', 'thanks', 'bye', 'ok']) {
    const end = await made.ask(text);
    assert.match(end.text, /no language model/, text);
    assert.doesNotMatch(end.text, /earlier sessions:\n/);
    assert.equal(claimsSave(end.text, { hasOtherEffects: false }), false, text);
  }
  assert.deepEqual(called(), []);
  assert.match((await made.ask('help')).text, /Remember that .*\n- "Forget .*\n.*loopd\.toml/s);
});

test('where nothing is found it says so, and a recall that failed is told', async () => {
  const { made } = session();
  assert.match((await made.ask('What do you know about zebras?')).text, /^I found nothing about that/);

  const failing = session({
    recall: () => ({ status: 'error', text: 'recall failed (memory-unavailable): refused. Say so.' }),
  });
  assert.match((await failing.made.ask('zebras?')).text, /recall failed \(memory-unavailable\)/);
});

test('what was saved or removed in this session counts though the block is frozen', async () => {
  const { made, called } = session();
  await made.ask('Remember that the zebra is called Zoe');
  assert.match(
    (await made.ask('What do you know about the zebra?')).text,
    /In memory\.md:\n> the zebra is called Zoe/,
  );

  await made.ask('Forget the spare key');
  assert.deepEqual(called().at(-1), [
    'memory',
    { action: 'remove', file: 'memory', old: 'The spare key is under the blue pot' },
  ]);
  assert.doesNotMatch((await made.ask('What do you know about me?')).text, /spare key/);
});

test('forgetting looks in both files, asks where several notes match, and says what went', async () => {
  const noMatch = JSON.stringify({ error: 'memory-no-match', message: 'no entry contains it' });
  const { made, called } = session({ memory: () => ({ status: 'error', text: noMatch }) });
  assert.match((await made.ask('Forget about the moon')).text, /^Nothing was removed: no entry contains it/);
  assert.deepEqual(
    called().map(([, args]) => (args as { file: string }).file),
    ['memory', 'user'],
  );

  const several = session();
  assert.match((await several.made.ask('Forget that e')).text, /^Several notes match/);
  assert.deepEqual(several.called(), []);
  assert.match(
    (await several.made.ask("forget that I'm vegetarian")).text,
    /^Removed from user\.md:\n> I'm vegetarian/,
  );
});

test('the time is the clock of the device', async () => {
  const { made } = session();

  assert.match((await made.ask('What time is it?')).text, /^It is 14:05 on Monday, 2026-11-30 \(UTC\)\.\n/);
});

test('the same request gives the same reply, and no call where none may be made', () => {
  const request = {
    messages: [{ role: 'user' as const, content: 'zebra' }],
    tools: baseline.tools,
    toolChoice: 'none' as const,
    maxTokens: 9,
    seed: 1,
  };

  assert.deepEqual(respond(request), respond({ ...request, seed: 2 }));
  assert.deepEqual(respond(request).calls, []);
});

test('notes are read from the block as they were written', () => {
  assert.deepEqual(notesOf(baseline.system), [
    { file: 'memory', text: 'The spare key is under the blue pot' },
    { file: 'memory', text: 'Wi-Fi\npassword: see the fridge' },
    { file: 'user', text: "I'm vegetarian" },
  ]);
  assert.deepEqual(notesOf('no block'), []);
});

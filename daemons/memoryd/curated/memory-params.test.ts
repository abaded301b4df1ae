/** Goal: every documented name works, the names of small models too, and what is missing or unknown is refused with the names that are accepted. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { ParamsError } from '../../../shared/params-error.ts';
import type { MemoryParams } from '../../../shared/protocol/memoryd.ts';
import { readMemoryParams } from './memory-params.ts';

const read = (params: MemoryParams) => readMemoryParams({ file: 'memory', ...params });
const operation = (params: MemoryParams) => read(params).operations[0];
const refused = (params: MemoryParams, field: string, message: RegExp) =>
  assert.throws(
    () => readMemoryParams(params),
    (error) => error instanceof ParamsError && error.field === field && message.test(error.message),
  );

test('the names of small models mean the same', () => {
  const replace = { action: 'replace', old: 'a', text: 'b' } as const;
  assert.deepEqual(operation(replace), replace);
  assert.deepEqual(operation({ action: 'replace', old_string: 'a', new_text: 'b' }), replace);
  assert.deepEqual(operation({ action: 'replace', old_text: 'a', content: 'b' }), replace);
  assert.deepEqual(operation({ action: 'replace', target: 'a', content: 'b' }), replace);
  assert.deepEqual(operation({ action: 'add', content: 'b' }), { action: 'add', text: 'b' });
  assert.deepEqual(operation({ action: 'remove', content: 'a' }), { action: 'remove', old: 'a' });
});

test('target names the file where no file is named, and otherwise the entry', () => {
  const byTarget = readMemoryParams({ action: 'add', target: 'user', text: 'b' });
  assert.equal(byTarget.file, 'user');
  assert.deepEqual(byTarget.operations, [{ action: 'add', text: 'b' }]);
  assert.deepEqual(operation({ action: 'remove', target: 'user' }), { action: 'remove', old: 'user' });
  assert.deepEqual(operation({ action: 'remove', target: 'memory', old: 'x' }), {
    action: 'remove',
    old: 'x',
  });
});

test('a file may be named as it is called on the disk', () => {
  assert.equal(readMemoryParams({ action: 'view', file: 'USER.md' }).file, 'user');
});

test('fields that are filled with nothing do not count', () => {
  assert.deepEqual(operation({ action: 'add', text: 'b', old: '', old_string: '', content: '' }), {
    action: 'add',
    text: 'b',
  });
});

test('what is missing or unknown is refused by name, with the names that are accepted', () => {
  refused({ action: 'add', text: 'x' }, 'file', /"memory" or "user"/);
  refused({ action: 'add', file: 'notes', text: 'x' }, 'file', /"memory" or "user"/);
  refused({ file: 'memory' }, 'action', /view, add, replace, remove, consolidate, undo/);
  refused({ file: 'memory', action: 'add' }, 'text', /text \(also content, new_text\)/);
  refused({ file: 'memory', action: 'replace', text: 'x' }, 'old', /old_text, old_string, target/);
  refused({ file: 'memory', action: 'replace', old: 'x' }, 'text', /content/);
  refused({ file: 'memory', action: 'remove' }, 'old', /old_text/);
  refused({ file: 'memory', action: 'consolidate', entries: [] }, 'expect', /version last seen/);
  refused({ file: 'memory', action: 'consolidate', expect: 'x' }, 'entries', /entries and expect/);
  refused({ file: 'memory', action: 'add', text: 'x', old: 'y' }, 'old', /use replace/);
  refused({ file: 'memory', action: 'add', text: 'x', content: 'y' }, 'text', /differ/);
  refused({ file: 'memory', operations: [{ action: 'add' }] }, 'operations[0].text', /text is missing/);
});

test('operations are about one file, named once or in each', () => {
  const operations = [
    { action: 'add', file: 'user', text: 'a' },
    { action: 'remove', file: 'user', old: 'b' },
  ] as const;
  const request = readMemoryParams({ operations: [...operations] });
  assert.equal(request.file, 'user');
  assert.equal(request.isBatch, true);
  assert.deepEqual(request.operations, [
    { action: 'add', text: 'a' },
    { action: 'remove', old: 'b' },
  ]);
  refused({ file: 'memory', operations: [...operations] }, 'file', /one file at a time/);
  refused({ file: 'memory', action: 'add', operations: [{ action: 'undo' }] }, 'operations', /not both/);
});

test('every action of the schema is understood, alone and in operations', () => {
  const whole = { text: 't', old: 'o', entries: ['e'], expect: 'v' };
  for (const action of ['view', 'replace', 'remove', 'consolidate', 'undo'] as const) {
    assert.equal(operation({ action, ...whole })?.action, action);
    assert.equal(read({ operations: [{ action, ...whole }] }).operations[0]?.action, action);
  }
});

test('reason and origin are kept', () => {
  const { reason, origin } = read({ action: 'undo', reason: 'asked', origin: { session: 's', turn: 0 } });
  assert.deepEqual([reason, origin], ['asked', { session: 's', turn: 0 }]);
});

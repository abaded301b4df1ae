import assert from 'node:assert/strict';
import { test } from 'node:test';
import { innerCall } from './call-arguments.ts';

function refusal(outer: Record<string, unknown>): string {
  const call = innerCall(outer);
  assert.ok(typeof call === 'string', 'no call');
  return call;
}

test('arguments are taken as an object, as a JSON string, wrapped twice, or laid flat', () => {
  for (const outer of [
    { name: 'fs/read', arguments: { q: 1 } },
    { name: 'fs/read', arguments: '{"q":1}' },
    { name: 'fs/read', arguments: { name: 'fs/read', arguments: { q: 1 } } },
    { name: 'fs/read', arguments: '{"name":"fs/read","arguments":{"q":1}}' },
    { name: 'fs/read', arguments: { name: 'fs/read', arguments: '{"q":1}' } },
    { name: 'call_tool', arguments: { name: 'fs/read', arguments: { q: 1 } } },
    { tool_name: 'fs/read', args: { q: 1 } },
    { name: 'fs/read', q: 1 },
  ]) {
    assert.deepEqual(innerCall(outer), { name: 'fs/read', args: { q: 1 } }, JSON.stringify(outer));
  }
});

test('a string is decoded once: a string inside stays what it is', () => {
  assert.deepEqual(innerCall({ name: 't', arguments: '{"json":"{\\"a\\":1}"}' }), {
    name: 't',
    args: { json: '{"a":1}' },
  });
});

test('what cannot be an object is refused by name and never replaced by nothing', () => {
  assert.match(refusal({ name: 't', arguments: '{"q":' }), /arguments for t are a string that is not JSON/);
  assert.match(refusal({ name: 't', arguments: '[1]' }), /must be an object, not a list/);
  assert.match(refusal({ name: 't', arguments: [{ q: 1 }] }), /must be an object, not a list/);
  assert.match(refusal({ name: 't', arguments: 7 }), /must be an object, not a number/);
  assert.match(refusal({ name: 't', arguments: '"x"' }), /must be an object, not a string/);
  assert.match(refusal({ arguments: { q: 1 } }), /needs `name`/);
});

test('no arguments are no arguments', () => {
  for (const outer of [
    { name: 't' },
    { name: 't', arguments: null },
    { name: 't', arguments: '' },
    { name: 't', arguments: {} },
  ]) {
    assert.deepEqual(innerCall(outer), { name: 't', args: {} });
  }
});

test('a tool that itself takes name and arguments gets them', () => {
  const args = { name: 't', arguments: { q: 1 } };

  assert.deepEqual(
    innerCall({ name: 't', arguments: args }, () => ['name', 'arguments']),
    { name: 't', args },
  );
  assert.deepEqual(innerCall({ name: 'run', arguments: { name: 'other', arguments: {} } }), {
    name: 'run',
    args: { name: 'other', arguments: {} },
  });
});

test('a key such as __proto__ is data', () => {
  const outer = JSON.parse('{"name":"t","arguments":{"__proto__":{"polluted":true}}}') as Record<
    string,
    unknown
  >;

  const call = innerCall(outer);

  assert.ok(typeof call === 'object' && Object.hasOwn(call.args, '__proto__'));
  assert.equal(({} as { polluted?: boolean }).polluted, undefined);
});

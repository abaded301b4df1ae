import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../../../shared/errors.ts';
import { Policy } from './policy.ts';

const verdict = (rules: Record<string, string>, name: string, isCore = false) =>
  new Policy(rules).ruling(name, isCore).verdict;

test('without rules core tools run and any other is asked for', () => {
  assert.equal(verdict({}, 'memory', true), 'allow');
  assert.equal(verdict({}, 'fs/read_file'), 'ask');
});

test('an exact name comes before a pattern, and a longer pattern before a shorter one, in whatever order they stand', () => {
  const rules = { '*': 'deny', 'fs/*': 'ask', 'fs/read_*': 'allow', 'fs/read_secret': 'deny' };

  for (const order of [rules, Object.fromEntries(Object.entries(rules).toReversed())]) {
    assert.equal(verdict(order, 'fs/read_file'), 'allow');
    assert.equal(verdict(order, 'fs/read_secret'), 'deny');
    assert.equal(verdict(order, 'fs/write_file'), 'ask');
    assert.equal(verdict(order, 'web/get'), 'deny');
    assert.equal(verdict(order, 'clock', true), 'deny');
  }
});

test('call_tool denied denies whatever is called through it; asked or allowed it gives way to a rule for the tool', () => {
  assert.equal(verdict({ call_tool: 'deny', 'fs/*': 'allow' }, 'fs/read_file'), 'deny');
  assert.equal(verdict({ call_tool: 'allow' }, 'fs/read_file'), 'allow');
  assert.equal(verdict({ call_tool: 'allow', 'fs/write*': 'deny' }, 'fs/write_file'), 'deny');
});

test('a pattern is no regular expression', () => {
  assert.equal(verdict({ 'a.c': 'allow' }, 'abc'), 'ask');
  assert.equal(verdict({ '[a': 'allow' }, '[a'), 'allow');
});

test('the ruling names its rule, as the log keeps it', () => {
  assert.equal(new Policy({ 'fs/*': 'deny' }).ruling('fs/x', false).rule, 'policy: fs/* = deny');
});

test('a verdict that is none is config-invalid', () => {
  assert.throws(
    () => new Policy({ memory: 'yes' }),
    (error) =>
      error instanceof AppError && error.code === 'config-invalid' && /policy\.memory/.test(error.message),
  );
});

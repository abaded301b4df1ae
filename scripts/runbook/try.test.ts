/** Goal: a wrong command or a wrong output is found. Method: outputs as commands would give them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unmet } from './try.ts';

const block = (status: number, ...lines: string[]) => ({
  section: 'Diagnosis',
  line: 1,
  commands: '',
  expect: { status, lines },
});

test('a status that is another is found', () => {
  assert.equal(unmet({ status: 127, output: '' }, block(0)), 'ended with 127, not 0');
  assert.equal(unmet({ status: 69, output: '' }, block(69)), undefined);
});

test('each line must be there, in this order', () => {
  const output = 'memoryd ready\nloopd down\n';

  assert.equal(
    unmet({ status: 0, output }, block(0, '^memoryd +ready$', 'loopd (?:down|failed)')),
    undefined,
  );
  assert.equal(unmet({ status: 0, output }, block(0, 'loopd', 'memoryd')), 'no line matches /memoryd/');
  assert.equal(unmet({ status: 0, output }, block(0, '(?i)LOOPD')), undefined);
});

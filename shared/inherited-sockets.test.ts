/** Goal: a socket from systemd is taken for what its unit names it, or not at all. Method: the variables alone. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from './errors.ts';
import { inheritedSockets } from './inherited-sockets.ts';

test('inherited sockets go by their names', () => {
  const env = { LISTEN_PID: String(process.pid), LISTEN_FDS: '3', LISTEN_FDNAMES: 'ops:loop:gate' };

  assert.deepEqual(
    [...inheritedSockets(env)],
    [
      ['ops', 3],
      ['loop', 4],
      ['gate', 5],
    ],
  );
});

test('sockets that were handed to another process are not ours', () => {
  assert.equal(inheritedSockets({ LISTEN_PID: '1', LISTEN_FDS: '1', LISTEN_FDNAMES: 'loop' }).size, 0);
  assert.equal(inheritedSockets({}).size, 0);
});

test('two sockets of one name, or as many names as there are not sockets, are refused', () => {
  const own = { LISTEN_PID: String(process.pid), LISTEN_FDS: '2' };
  const isConfigInvalid = (error: unknown) => error instanceof AppError && error.code === 'config-invalid';

  assert.throws(() => inheritedSockets({ ...own, LISTEN_FDNAMES: 'loop:loop' }), isConfigInvalid);
  assert.throws(() => inheritedSockets({ ...own, LISTEN_FDNAMES: 'loop' }), isConfigInvalid);
  assert.throws(() => inheritedSockets({ ...own, LISTEN_FDS: '999999999' }), isConfigInvalid);
});

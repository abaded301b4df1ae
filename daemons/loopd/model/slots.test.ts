/** Which session keeps which slot of a model server. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Slots } from './slots.ts';

function asked(slots: Slots, session: string): number {
  const { slot, done } = slots.take(session);
  done();
  return slot;
}

test('sessions keep their slots, and the last slot is spare', () => {
  const slots = new Slots(3);

  assert.deepEqual(
    ['a', 'b', 'a', 'b', 'a'].map((session) => asked(slots, session)),
    [0, 1, 0, 1, 0],
  );
  assert.equal(slots.spare, 2);
});

test('one session more takes the slot that was used longest ago', () => {
  const slots = new Slots(3);

  assert.deepEqual(
    ['a', 'b', 'a', 'c', 'a', 'b'].map((session) => asked(slots, session)),
    [0, 1, 0, 1, 0, 1],
  );
});

test('it takes none that is being used while another is idle', () => {
  const slots = new Slots(3);
  const long = slots.take('a');
  asked(slots, 'b');

  assert.equal(asked(slots, 'c'), 1);
  long.done();
  assert.equal(asked(slots, 'd'), 0);
});

test('a closed session gives its slot back', () => {
  const slots = new Slots(3);
  asked(slots, 'a');
  asked(slots, 'b');
  slots.release('b');

  assert.equal(asked(slots, 'c'), 1);
  assert.equal(asked(slots, 'a'), 0);
});

test('with one slot every session shares it, and none is spare', () => {
  const slots = new Slots(1);

  assert.deepEqual([asked(slots, 'a'), asked(slots, 'b'), slots.spare], [0, 0, undefined]);
});

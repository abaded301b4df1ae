/** Goal: scores tell how skills did over all runs, and nothing is left out or counted wrongly. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { SkillScores, type Trial } from '../plane/scores.ts';
import { PlaneFixture, sparse } from '../plane/plane-fixture.ts';

const trial = (skill: string, satisfied: boolean, source = 'here', passRate = 0.5): Trial => ({
  skill,
  satisfied,
  source,
  pass_rate: passRate,
});

function ranked(...trials: Trial[]): string[] {
  const scores = new SkillScores();
  for (const each of trials) scores.add(each);
  return scores.ranked().map(({ skill }) => skill);
}

test('no trials, no scores', async () => {
  const plane = await PlaneFixture.open();
  assert.deepEqual(await plane.call('record/scores', {}), { scores: [] });
});

test('trials of all runs are grouped by skill; the first source is the source', async () => {
  const plane = await PlaneFixture.open();
  const put = (fields: object) => plane.put('skill_trial', { ...sparse.skill_trial, ...fields });
  await put({ skill: 'a', source: 'x', pass_rate: 1, run_id: 'r1' });
  await put({ skill: 'a', source: 'y', pass_rate: 0.5, satisfied: false, run_id: 'r2' });
  await put({ skill: 'a', source: 'x', pass_rate: 0, satisfied: false, run_id: 'r1' });
  await put({ skill: '__proto__', source: '', pass_rate: 0.25 });

  const { scores } = await plane.call('record/scores', {});

  assert.deepEqual(scores, [
    {
      skill: '__proto__',
      trials: 1,
      satisfied: 1,
      satisfaction_rate: 1,
      mean_pass_rate: 0.25,
      source: '',
      sources: [''],
    },
    {
      skill: 'a',
      trials: 3,
      satisfied: 1,
      satisfaction_rate: 1 / 3,
      mean_pass_rate: 0.5,
      source: 'x',
      sources: ['x', 'y'],
    },
  ]);
});

test('the rate decides before the number of trials, and the name where both are the same', () => {
  const many = Array.from({ length: 9 }, () => trial('many', true));
  assert.deepEqual(ranked(...many, trial('many', false), trial('once', true)), ['once', 'many']);
  assert.deepEqual(ranked(trial('b', true), trial('a', true)), ['a', 'b']);
  const third = [trial('x', true), trial('x', false), trial('x', false)];
  const sixth = [...third, ...third].map((each) => ({ ...each, skill: 'y' }));
  assert.deepEqual(ranked(...third, ...sixth), ['y', 'x']);
});

test('every trial counts once, whatever the order', () => {
  const trials = fc.array(
    fc.record({
      skill: fc.constantFrom('a', 'b', 'c', 'constructor'),
      source: fc.constantFrom('x', 'y'),
      pass_rate: fc.constantFrom(0, 0.5, 1),
      satisfied: fc.boolean(),
    }),
  );
  fc.assert(
    fc.property(trials, (all) => {
      const scores = new SkillScores();
      for (const each of all) scores.add(each);
      const list = scores.ranked();
      assert.equal(
        list.reduce((sum, { trials }) => sum + trials, 0),
        all.length,
      );
      for (const { skill, source, sources, satisfied, satisfaction_rate: rate, trials: count } of list) {
        const own = all.filter((each) => each.skill === skill);
        assert.equal(source, own[0]?.source);
        assert.deepEqual(sources, [...new Set(own.map((each) => each.source))]);
        assert.equal(satisfied, own.filter((each) => each.satisfied).length);
        assert.equal(rate, satisfied / count);
      }
      assert.deepEqual(
        list.map((score) => score.satisfaction_rate),
        list.map((score) => score.satisfaction_rate).toSorted((a, b) => b - a),
      );
    }),
  );
});

test('a trial that cannot be read is named, and the others count', async () => {
  const plane = await PlaneFixture.open();
  const { key } = await plane.put('skill_trial', sparse.skill_trial);
  await plane.put('skill_trial', sparse.skill_trial);
  await plane.store.damage(key);
  const { scores, damaged } = await plane.call('record/scores', {});
  assert.deepEqual([scores[0]?.['trials'], damaged], [1, [key]]);
});

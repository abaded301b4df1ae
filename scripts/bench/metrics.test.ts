/** Goal: the figures that a claim is made with are right. Method: rankings of which the figures are known by hand. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refsIn } from './data.ts';
import { meanOf, quantile, scoresOf } from './metrics.ts';

const question = {
  text: '',
  category: '1',
  evidence: new Set(['s1 a', 's2 b']),
  sessions: new Set(['s1', 's2']),
};

test('evidence at rank 3 and 7 counts where it should', () => {
  const ranking = ['s0 x', 's0 y', 's1 a', 's0 z', 's4 p', 's5 q', 's2 b'];
  const scores = scoresOf(ranking, question);

  assert.deepEqual(
    { ...scores, ndcg10: Math.round(scores.ndcg10 * 1000) },
    {
      turn1: 0,
      turn5: 1,
      turn10: 1,
      all10: 1,
      mrr: 1 / 3,
      ndcg10: 511,
      session1: 0,
      session5: 1,
      session10: 1,
    },
  );
});

test('another turn of the right session counts for the session alone', () => {
  const { turn10, session1, mrr } = scoresOf(['s2 other'], question);

  assert.deepEqual({ turn10, session1, mrr }, { turn10: 0, session1: 1, mrr: 0 });
});

test('nothing found is nothing', () => {
  const scores = scoresOf([], question);

  assert.deepEqual(new Set(Object.values(scores)), new Set([0]));
});

test('a perfect ranking is 100 everywhere', () => {
  const figures = meanOf([scoresOf(['s1 a', 's2 b'], question)]);

  assert.deepEqual(new Set(Object.values({ ...figures, questions: 100 })), new Set([100]));
});

test('quantiles of one to a hundred', () => {
  const values = Array.from({ length: 100 }, (_, at) => 100 - at);

  assert.deepEqual([quantile(values, 0.5), quantile(values, 0.99), quantile(values, 1)], [51, 100, 100]);
});

test('evidence is read in every way that it is written', () => {
  assert.deepEqual(refsIn('D8:6; D9:17'), ['D8:6', 'D9:17']);
  assert.deepEqual(refsIn('D9:1 D4:4 D4:6'), ['D9:1', 'D4:4', 'D4:6']);
  assert.deepEqual(refsIn('D:11:26'), ['D11:26']);
  assert.deepEqual(refsIn('D30:05'), ['D30:5']);
  assert.deepEqual(refsIn('D'), []);
});

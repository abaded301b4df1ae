/**
 * Goal: kill -9 at any moment loses nothing that was acknowledged, doubles nothing, and brings nothing back.
 * Method: clients of both daemons, each with a log of what it asked and was told; a daemon killed while it starts,
 * works or stops; after each kill a restart and the proof of every log. SEED=… repeats all of it,
 * STORM=… the one home that failed; SOAK=1 is the long run.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SeededRandom } from '../../daemons/memoryd/store/seeded-random.ts';
import { chatStorm } from './testing/chat-storm.ts';
import { storm } from './testing/storm.ts';

const isSoak = process.env['SOAK'] === '1';
const memorydCycles = isSoak ? 1_800 : 160;
const loopdCycles = isSoak ? 200 : 40;
/** A home lives so long, then another begins: the first moments of a store are among those to be killed in. */
const cyclesOfHome = isSoak ? 60 : 16;
const chatCyclesOfHome = 10;
const lanes = 2;

const random = new SeededRandom();

/** The same work for every seed, a few at a time. */
async function inLanes(count: number, work: (seed: number) => Promise<void>): Promise<void> {
  const one = process.env['STORM'];
  const seeds =
    one === undefined ? Array.from({ length: count }, () => random.below(2 ** 31)) : [Number(one)];
  const lane = async () => {
    for (let seed = seeds.pop(); seed !== undefined; seed = seeds.pop()) await work(seed);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

test(`memoryd killed in ${memorydCycles} lives loses nothing and doubles nothing`, async () => {
  const total = { kills: 0, acknowledged: 0 };
  const ends: Record<string, number> = {};
  await inLanes(memorydCycles / cyclesOfHome, async (seed) => {
    const report = await storm(seed, { cycles: cyclesOfHome });
    total.kills += report.kills;
    total.acknowledged += report.acknowledged;
    for (const [end, times] of Object.entries(report.ends)) ends[end] = (ends[end] ?? 0) + times;
  });
  console.log(
    `figures: memoryd killed ${total.kills} times, ${total.acknowledged} acknowledged, 0 lost ${JSON.stringify(ends)}`,
  );
  assert.ok(total.kills > 0);
  assert.ok(total.acknowledged > total.kills * 10);
});

test(`loopd and memoryd killed ${loopdCycles} times: no turn is lost, and nothing is done twice`, async () => {
  const total = { kills: 0, answered: 0 };
  await inLanes(loopdCycles / chatCyclesOfHome, async (seed) => {
    const { kills, answered } = await chatStorm(seed, { cycles: chatCyclesOfHome });
    total.kills += kills;
    total.answered += answered;
  });
  console.log(`figures: daemons killed ${total.kills} times in turns, ${total.answered} answered, 0 lost`);
  assert.ok(total.kills > 0);
  assert.ok(total.answered > total.kills);
});

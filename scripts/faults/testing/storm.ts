/** memoryd used by everybody at once and killed at any moment, again and again, with the proof after each time. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SeededRandom } from '../../../daemons/memoryd/store/seeded-random.ts';
import { homeOf, type Home } from '../../../shared/home.ts';
import { temporaryHome } from '../../../shared/testing/start-daemon.ts';
import { View, type Actor } from './actor.ts';
import { Appends } from './appends.ts';
import { Cells } from './cells.ts';
import { Crowd } from './crowd.ts';
import { LineClient } from './line-client.ts';
import { LogWriter } from './log-writer.ts';
import { Operator } from './operator.ts';
import { Owner } from './owner.ts';
import { caughtUp, proveState } from './proof.ts';
import { Victim } from './victim.ts';

/** Room for the entries of all, so that no write is refused for its size. */
const config = '[memory]\nmemory_chars_max = 20000\nuser_chars_max = 5000\n';
const startMsMax = 500;
const workMsMin = 20;
const workMsMax = 400;
const stopMsMax = 60;

export interface StormReport {
  kills: number;
  acknowledged: number;
  ends: Record<string, number>;
}

export async function storm(seed: number, { cycles }: { cycles: number }): Promise<StormReport> {
  const random = new SeededRandom(seed);
  const temporary = temporaryHome();
  const home = homeOf({ home: temporary.home });
  mkdirSync(home.sessions, { recursive: true });
  writeFileSync(join(temporary.home, 'memoryd.toml'), config);
  const actors = actorsOf(random);
  const report: StormReport = { kills: 0, acknowledged: 0, ends: {} };
  try {
    for (let cycle = 0; cycle <= cycles; cycle += 1) {
      const life = { home, actors, random, isLast: cycle === cycles };
      const end = await live(life).catch((cause: unknown) => {
        const why = cause instanceof Error ? cause.message : String(cause);
        throw new Error(`STORM=${seed} cycle ${cycle} of ${cycles}: ${why}`, { cause });
      });
      report.ends[end] = (report.ends[end] ?? 0) + 1;
      if (end.startsWith('killed')) report.kills += 1;
    }
    report.acknowledged = actors.reduce((sum, { acknowledged }) => sum + acknowledged, 0);
    return report;
  } finally {
    temporary.remove();
  }
}

function actorsOf(random: SeededRandom): Actor[] {
  return [
    new Appends('a', random),
    new Appends('b', random),
    new Cells('c', random),
    new Crowd('d', random),
    new Crowd('e', random),
    new Owner(random),
    new LogWriter('f', random),
    new Operator(random),
  ];
}

interface Life {
  readonly home: Home;
  readonly actors: readonly Actor[];
  readonly random: SeededRandom;
  /** Nothing but the proof. */
  readonly isLast: boolean;
}

/** One life: started, proved right, used, and ended in one of four ways. @returns which */
async function live({ home, actors, random, isLast }: Life): Promise<string> {
  const choice = random.below(10);
  const victim = new Victim('memoryd', home.home);
  try {
    if (choice === 0 && !isLast) {
      await sleep(random.below(startMsMax));
      return 'killed while it started';
    }
    assert.ok(await victim.ready, victim.output);
    await prove(home, actors);
    if (isLast) return 'proved';
    const acts = Promise.all(actors.map((actor) => actor.act(home)));
    await sleep(workMsMin + random.below(workMsMax - workMsMin));
    if (choice === 1) {
      assert.equal(await victim.stop(), 0, victim.output);
    } else if (choice === 2) {
      victim.child.kill('SIGTERM');
      await sleep(random.below(stopMsMax));
    }
    await victim.kill();
    await acts;
    return ['', 'stopped', 'killed while it stopped'][choice] ?? 'killed at work';
  } finally {
    await victim.kill();
  }
}

async function prove(home: Home, actors: readonly Actor[]): Promise<void> {
  const ops = await LineClient.open(home.memorySockets.ops);
  assert.ok(ops);
  await caughtUp(new View(ops, home));
  for (const actor of actors) await actor.settle(new View(ops, home));
  const view = new View(ops, home);
  for (const actor of actors) await actor.check(view);
  await proveState(view);
  ops.destroy();
}

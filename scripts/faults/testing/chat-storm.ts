/** Both daemons used by people who talk, either killed or both, again and again, with the proof after each time. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SeededRandom } from '../../../daemons/memoryd/store/seeded-random.ts';
import { homeOf, type Home } from '../../../shared/home.ts';
import { temporaryHome } from '../../../shared/testing/start-daemon.ts';
import { View } from './actor.ts';
import { Chatter } from './chatter.ts';
import { LineClient } from './line-client.ts';
import { proveState } from './proof.ts';
import { Victim } from './victim.ts';

const config = '[memory]\nmemory_chars_max = 100000\n';
const workMsMin = 30;
const workMsMax = 600;

type Daemon = 'memoryd' | 'loopd';

export interface ChatReport {
  kills: number;
  answered: number;
}

/** Which of the two is killed: most of the time the one that runs the turns. */
const victims: readonly (readonly Daemon[])[] = [['loopd'], ['loopd'], ['memoryd'], ['memoryd', 'loopd']];

export async function chatStorm(seed: number, { cycles }: { cycles: number }): Promise<ChatReport> {
  const random = new SeededRandom(seed);
  const temporary = temporaryHome();
  const home = homeOf({ home: temporary.home });
  writeFileSync(join(temporary.home, 'memoryd.toml'), config);
  const chatters = [new Chatter('p', random), new Chatter('q', random)];
  const daemons = new Map<Daemon, Victim>();
  const start = async (name: Daemon) => {
    const victim = new Victim(name, home.home);
    daemons.set(name, victim);
    assert.ok(await victim.ready, victim.output);
  };
  let kills = 0;
  try {
    await Promise.all([start('memoryd'), start('loopd')]);
    for (let cycle = 0; cycle < cycles; cycle += 1) {
      const acts = Promise.all(chatters.map((chatter) => chatter.act(home)));
      await sleep(workMsMin + random.below(workMsMax - workMsMin));
      const killed = new Set<Daemon>(victims[random.below(victims.length)]);
      await Promise.all([...killed].map(async (name) => await daemons.get(name)?.kill()));
      if (!killed.has('loopd')) {
        // Turns go on without memoryd, until they are cut off as well.
        await sleep(random.below(workMsMax));
        killed.add('loopd');
        await daemons.get('loopd')?.kill();
      }
      kills += killed.size;
      await acts;
      await Promise.all([...killed].map(start));
      await prove(home, chatters).catch((cause: unknown) => {
        const why = cause instanceof Error ? cause.message : String(cause);
        throw new Error(`STORM=${seed} cycle ${cycle}, killed ${[...killed].join(' and ')}: ${why}`, {
          cause,
        });
      });
    }
    return { kills, answered: chatters.reduce((sum, { answered }) => sum + answered, 0) };
  } finally {
    for (const daemon of daemons.values()) await daemon.kill();
    temporary.remove();
  }
}

async function prove(home: Home, chatters: readonly Chatter[]): Promise<void> {
  const ops = await LineClient.open(home.memorySockets.ops);
  assert.ok(ops);
  for (const chatter of chatters) await chatter.settle(home);
  const view = new View(ops, home);
  for (const chatter of chatters) await chatter.check(view);
  await proveState(view);
  ops.destroy();
}

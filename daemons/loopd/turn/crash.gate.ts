/**
 * Goal: whenever loopd is killed, no effect happens twice, no accepted turn is lost, and every call has one result.
 * Method: the real loopd between a real memoryd, a model server and an MCP server, each a process of its own. Turns
 * with a read-only, a keyed and an unkeyed effect run, SIGKILL comes at random moments of them, of the starts after it
 * and of what these go on with; then the log, the world and the prompts are compared. 100 schedules, 2,000 with SOAK=1;
 * SEED=n repeats a run from its first schedule.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { startDaemon, temporaryHome } from '../../../shared/testing/start-daemon.ts';
import { CrashLane, type Crashed } from '../testing/crash-lane.ts';
import type { FakeRule } from '../testing/fake-step.ts';
import { Seeded } from '../testing/seeded.ts';
import { startHelper } from '../testing/start-helper.ts';

const schedules = process.env['SOAK'] === '1' ? 2000 : 100;
/** Each batch has servers and a memory of its own, so that none grows without end. */
const batchMax = 100;
const lanes = 2;
const firstSeed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));

const call = (name: string, args: object) => ({ name, arguments: JSON.stringify(args) });
const effect = (tool: string) =>
  call('call_tool', { name: `effects/${tool}`, arguments: { id: '{{said}}' } });
const rules: FakeRule[] = [
  { results: 3, step: { text: 'All of {{said}} is done.', delayMs: 1 } },
  { results: 2, step: { calls: [effect('send')], delayMs: 1 } },
  {
    last: 'user',
    step: { calls: [effect('look'), call('memory', { action: 'add', text: 'noted {{said}}' })] },
  },
];

interface Sent {
  readonly body: { messages: { role: string; content: string }[] };
  readonly text: string;
}

async function runBatch(t: TestContext, seeds: readonly number[]): Promise<Crashed[]> {
  const { home, remove } = temporaryHome();
  const log = join(home, 'effects.log');
  writeFileSync(join(home, 'memoryd.toml'), '[memory]\nmemory_chars_max = 100000\n');
  const memoryd = await startDaemon('memoryd', home);
  t.after(async () => {
    await memoryd.kill();
    remove();
  });
  const [modelUrl, effectsUrl] = await Promise.all([
    startHelper(t, 'fake-model-main.ts', { rules, slots: lanes * 2, contextTokens: 16_384 }),
    startHelper(t, 'effect-server.ts', { log }),
  ]);
  const memorySocket = join(home, 'run', 'loop-memory', 'memory.sock');
  const waiting = [...seeds];
  const crashed: Crashed[] = [];
  const lane = async (number: number) => {
    const own = new CrashLane({ home: join(home, `${number}`), memorySocket, modelUrl, effectsUrl });
    try {
      for (let seed = waiting.shift(); seed !== undefined; seed = waiting.shift()) {
        const done = await own.schedule(`${seed}`, new Seeded(seed)).catch((cause: unknown) => {
          throw new Error(`SEED=${seed} failed: ${String(cause)}`, { cause });
        });
        crashed.push(...done);
      }
    } finally {
      await own.stop();
    }
  };
  await Promise.all(Array.from({ length: lanes }, (_, number) => lane(number)));
  checkWorld(crashed, existsSync(log) ? readFileSync(log, 'utf8') : '');
  checkMemory(crashed, readFileSync(join(home, 'memory', 'memory.md'), 'utf8'));
  const sent = (await (await fetch(`${modelUrl}/fake/requests`)).json()) as Sent[];
  checkPrompts(crashed, sent);
  return crashed;
}

/** What was done to the world, against what the logs say of it. */
function checkWorld(crashed: readonly Crashed[], log: string): void {
  const lines = log.split('\n');
  for (const { said, sent } of crashed) {
    const times = lines.filter((line) => line === `send ${said}`).length;
    assert.ok(times <= 1, `${said} was sent ${times} times`);
    if (sent === 'ok') assert.equal(times, 1, `${said}: the log says that it was sent`);
  }
}

function checkMemory(crashed: readonly Crashed[], memory: string): void {
  const entries = memory.split('\n');
  for (const { said } of crashed)
    assert.equal(entries.filter((entry) => entry === `- noted ${said}`).length, 1, said);
}

/** Each request begins with the one before it, whatever happened to loopd in between. */
function checkPrompts(crashed: readonly Crashed[], sent: readonly Sent[]): void {
  const requests = new Map<string, string[]>();
  for (const { body, text } of sent) {
    const said = body.messages[1]?.content ?? '';
    requests.set(said, [...(requests.get(said) ?? []), promptOf(text)]);
  }
  for (const { said } of crashed) {
    const own = requests.get(said) ?? [];
    assert.ok(own.length >= 3, `${said} was asked ${own.length} times`);
    for (const [at, prompt] of own.slice(1).entries()) {
      const before = own[at] ?? '';
      assert.ok(prompt.startsWith(before), `${said}: request ${at + 1} is no continuation of ${at}`);
    }
  }
}

/** Tools and messages as they were sent, open at their end. */
function promptOf(text: string): string {
  const from = text.indexOf('"tools":');
  const to = text.indexOf('],"tool_choice"');
  assert.ok(from > 0 && to > from, text.slice(0, 200));
  return text.slice(from, to);
}

test(`${schedules} schedules of kills: nothing twice, nothing lost, one result a call`, async (t) => {
  console.log(`SEED=${firstSeed} SCHEDULES=${schedules}`);
  const seeds = Array.from({ length: schedules }, (_, at) => firstSeed + at);
  const crashed: Crashed[] = [];
  while (seeds.length > 0) {
    const batch = seeds.splice(0, batchMax);
    await t.test(`seeds ${batch[0]} to ${batch.at(-1)}`, async (one) => {
      crashed.push(...(await runBatch(one, batch)));
    });
  }
  const places = new Map<string, number>();
  for (const { at = 'not accepted', sent } of crashed)
    for (const place of [`killed after ${at}`, `sent: ${sent}`])
      places.set(place, (places.get(place) ?? 0) + 1);
  console.log(
    `${crashed.length} turns; ${[...places].map(([place, times]) => `${place} ${times}`).join(', ')}`,
  );
  for (const place of ['turn', 'assistant', 'call', 'result'])
    assert.ok(places.has(`killed after ${place}`), `no kill came after a ${place} record`);
});

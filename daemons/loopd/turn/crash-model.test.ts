/**
 * A model check of the turn loop: one turn with a read-only, a keyed and an unkeyed effect, crashed at each point of
 * its input and output, and in what follows at each point again, however often; for each crash, each length of the
 * unsynced tail that a power cut may leave, torn lines included. States that are equal are gone on from once. The
 * loop and its recovery are the real ones, the disk and the world are in memory.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SessionBody, SessionRecord } from '../../../shared/protocol/sessions.ts';
import { History } from '../session/history.ts';
import { decodeRecord, encodeRecord } from '../session/record-line.ts';
import { calls, scriptedBaseline } from '../testing/scripted-turn.ts';
import type { ToolEffects } from '../tools/tool.ts';
import type { TurnEffects } from './effects.ts';
import { runTurn } from './turn.ts';

const kinds: Record<string, ToolEffects> = { look: 'none', note: 'keyed', send: 'once' };
const script = [calls(['look'], ['note', { text: 'tea' }]), calls(['send', { to: 'x' }]), { text: 'Done.' }];

/** A file of lines: what was synced survives every crash, of what came after a prefix of its bytes does. */
class Disk {
  synced = Buffer.alloc(0);
  tail: Buffer[] = [];

  clone(): Disk {
    const disk = new Disk();
    disk.synced = this.synced;
    disk.tail = [...this.tail];
    return disk;
  }

  sync(): void {
    this.synced = Buffer.concat([this.synced, ...this.tail]);
    this.tail = [];
  }

  /** The ways in which a crash may leave the file: each number of lines, cut in the middle of the next one, or before its newline. */
  survivors(): Disk[] {
    const tail = Buffer.concat(this.tail);
    const lengths = new Set([0, tail.length]);
    let end = 0;
    for (const line of this.tail) {
      lengths
        .add(end)
        .add(end + Math.floor(line.length / 2))
        .add(end + line.length - 1);
      end += line.length;
    }
    return [...lengths].map((length) => {
      const disk = new Disk();
      disk.synced = Buffer.concat([this.synced, tail.subarray(0, length)]);
      return disk;
    });
  }

  /** As opening a log does: a whole last record is kept, a torn one cut off. */
  open(): SessionRecord[] {
    const records: SessionRecord[] = [];
    let start = 0;
    for (let end; start < this.synced.length; start = end + 1) {
      end = this.synced.indexOf(0x0a, start);
      const isLast = end < 0;
      if (isLast) end = this.synced.length;
      const record = decodeRecord(this.synced.subarray(start, end), records.length);
      if ('wrong' in record) {
        assert.ok(isLast, record.wrong);
        break;
      }
      records.push(record);
    }
    this.synced = Buffer.concat(records.map((record) => Buffer.from(`${JSON.stringify(record)}\n`)));
    return records;
  }
}

/** What the tools did: a tool with keys remembers them, one without does it each time it is run. */
class World {
  readonly effects: string[];
  readonly keys: Set<string>;
  isAccepted: boolean;

  constructor(from?: World) {
    this.effects = [...(from?.effects ?? [])];
    this.keys = new Set(from?.keys);
    this.isAccepted = from?.isAccepted ?? false;
  }

  run(name: string, key: string): void {
    if (kinds[name] === 'none' || (kinds[name] === 'keyed' && this.keys.has(key))) return;
    this.keys.add(key);
    this.effects.push(key);
  }
}

interface Life {
  disk: Disk;
  world: World;
}

/** Runs a daemon until it crashes at point `at`, or to the end of the turn; says how many points there were. */
async function live({ disk, world }: Life, at: number, isIntentSynced: boolean): Promise<number | 'crashed'> {
  let points = 0;
  let crash = () => {};
  const crashed = new Promise<'crashed'>((resolve) => (crash = () => resolve('crashed')));
  // A crashed daemon does nothing more: what it waits for never comes.
  const point = async () => {
    points += 1;
    if (points !== at) return;
    crash();
    await new Promise(() => {});
  };

  const records = disk.open();
  const history = new History(records);
  const append = async (body: SessionBody, { sync }: { sync: boolean }) => {
    await point();
    const { line, record } = encodeRecord(body, { seq: history.lastSeq + 1, at: '2026-01-01T00:00:00.000Z' });
    disk.tail.push(line);
    history.push(record);
    await point();
    if (sync && (isIntentSynced || body.type !== 'call')) {
      disk.sync();
      await point();
    }
    return record;
  };
  const effects: TurnEffects = {
    ask: async ({ messages }) => {
      await point();
      const step = messages.filter(({ role }) => role === 'assistant').length;
      await point();
      return { text: '', reasoning: '', calls: [], finish: 'stop', usage: {}, ...script[step] };
    },
    decide: async () => {
      await point();
      return { verdict: 'allow', rule: 'test' };
    },
    prepare: async () => {},
    effectsOf: (name) => ({ effects: kinds[name]!, isVolatile: false }),
    check: () => undefined,
    run: async (call, { key }) => {
      await point();
      world.run(call.name, key);
      await point();
      return { status: 'ok', text: `did ${call.name}` };
    },
    append,
    emit: () => {},
    sleep: async () => {},
  };

  const life = async () => {
    if (history.turn === 0) {
      await append({ type: 'turn', turn: 1, text: 'do it', request_id: 'r' }, { sync: true });
      world.isAccepted = true;
    }
    await runTurn(history, { effects, signal: AbortSignal.any([]) });
    return points;
  };
  return Promise.race([life(), crashed]);
}

function born(): Life {
  const disk = new Disk();
  const session: SessionBody = {
    type: 'session',
    id: 's',
    origin: 'person',
    model: 'm',
    baseline: scriptedBaseline,
  };
  disk.tail.push(encodeRecord(session, { seq: 0, at: '2026-01-01T00:00:00.000Z' }).line);
  disk.sync();
  return { disk, world: new World() };
}

interface Found {
  /** Crashes, each with one way in which it leaves the file. */
  crashes: number;
  states: number;
  twice: number;
  lost: number;
  notOneResult: number;
  notOneEnd: number;
  interrupted: number;
}

function judge({ disk, world }: Life, found: Found): void {
  disk.sync();
  const records = disk.open();
  const made = records.flatMap((record) => (record.type === 'assistant' ? (record.calls ?? []) : []));
  const results = records.filter((record) => record.type === 'result');
  found.states += 1;
  if (hasRepeated(world)) found.twice += 1;
  if (made.some(({ id }) => results.filter(({ call }) => call === id).length !== 1)) found.notOneResult += 1;
  if (records.filter(({ type }) => type === 'end').length !== 1) found.notOneEnd += 1;
  if (results.some(({ status }) => status === 'interrupted')) found.interrupted += 1;
}

function hasRepeated({ effects }: World): boolean {
  return new Set(effects).size !== effects.length;
}

function copyOf({ disk, world }: Life): Life {
  return { disk: disk.clone(), world: new World(world) };
}

async function checkAll(isIntentSynced: boolean): Promise<Found> {
  const found: Found = {
    crashes: 0,
    states: 0,
    twice: 0,
    lost: 0,
    notOneResult: 0,
    notOneEnd: 0,
    interrupted: 0,
  };
  const seen = new Set<string>();
  const open = [born()];
  for (let start = open.pop(); start; start = open.pop()) {
    // What is wrong once is not gone on from: it could go wrong for ever.
    for (let at = 1; !hasRepeated(start.world); at += 1) {
      const life = copyOf(start);
      if ((await live(life, at, isIntentSynced)) !== 'crashed') break;
      for (const disk of life.disk.survivors()) {
        const records = disk.open();
        found.crashes += 1;
        if (life.world.isAccepted && !records.some(({ type }) => type === 'turn')) found.lost += 1;
        const state = `${disk.synced.toString()} ${life.world.effects.join()} ${life.world.isAccepted}`;
        if (!seen.has(state)) open.push({ disk, world: new World(life.world) });
        seen.add(state);
      }
    }
    const life = copyOf(start);
    await live(life, -1, isIntentSynced);
    judge(life, found);
  }
  return found;
}

test('no schedule of crashes repeats an effect, loses an accepted turn or leaves a call without its one result', async () => {
  const { crashes, states, interrupted, ...faults } = await checkAll(true);

  assert.deepEqual(faults, { twice: 0, lost: 0, notOneResult: 0, notOneEnd: 0 });
  assert.ok(crashes > 500 && states > 30, `${crashes} crashes, ${states} states`);
  assert.ok(interrupted > 0, 'some outcomes are unknown, and said to be');
});

test('the check finds the fault that it is for: an intent that is not on the disk lets an effect happen twice', async () => {
  const { twice } = await checkAll(false);

  assert.ok(twice > 0);
});

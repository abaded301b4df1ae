/**
 * Goal: nothing that was accepted is lost, whoever writes at the same time and however it ends; faults of the disk have
 * their name and pass. Method: many writers on one memory, an editor and a victim in processes of their own, and file
 * systems that are full or read-only (those need root, and say so where they cannot be had).
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn, type ChildProcessByStdio } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import test, { type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { AppError } from '../../../shared/errors.ts';
import { SeededRandom } from '../store/seeded-random.ts';
import { TestHome } from '../store/test-home.ts';
import { CuratedFixture, refusal, TestClock } from './curated-fixture.ts';
import { parse } from './file-format.ts';

const home = new TestHome();
const isSoak = process.env['SOAK'] === '1';
const program = fileURLToPath(new URL('./testing/writing-process.ts', import.meta.url));

/** A process that writes; resolves when it is ready, and collects what it tells. */
async function start(
  t: TestContext,
  ...args: string[]
): Promise<{ child: ChildProcessByStdio<null, Readable, null>; told: string[] }> {
  const child = spawn(process.execPath, ['--import', 'tsx', program, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  const told: string[] = [];
  await new Promise<void>((resolve, reject) => {
    child.once('exit', () => reject(new Error('it ended before it was ready')));
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line === 'ready') resolve();
      else told.push(line);
    });
  });
  return { child, told };
}

/** Ends it, and waits for all that it told. */
async function stop(
  { child }: { child: ChildProcessByStdio<null, Readable, null> },
  signal: NodeJS.Signals,
): Promise<void> {
  const closed = new Promise((resolve) => child.once('close', resolve));
  child.kill(signal);
  await closed;
}

/** Every text that was ever in the file, and every text that left it, by the history. */
async function historyOf(it: CuratedFixture): Promise<{ came: Set<string>; went: Set<string> }> {
  await it.entries();
  await it.memory.settled();
  const [came, went] = [new Set<string>(), new Set<string>()];
  let cursor: string | undefined;
  do {
    const page = await it.memory.log({
      file: 'memory',
      limit: 1000,
      ...(cursor === undefined ? {} : { cursor }),
    });
    for (const { changed } of page.changes) {
      for (const { before, after } of changed) {
        if (after !== null) came.add(after);
        if (before !== null) went.add(before);
      }
    }
    cursor = page.next;
  } while (cursor !== undefined);
  return { came, went };
}

test('fifty writers, an editor and a consolidation at once lose nothing that was accepted', async (t) => {
  const it = await CuratedFixture.open(home, { limits: { memory: 12_000, user: 1000 } });
  const editor = await start(t, 'edit', it.path(), '100');
  const accepted: string[] = [];
  const refused = new Map<string, number>();
  const attempt = async (texts: string[], work: () => Promise<unknown>) => {
    try {
      await work();
      accepted.push(...texts);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      refused.set(error.code, (refused.get(error.code) ?? 0) + 1);
    }
  };
  const writer = async (name: number) => {
    for (let times = 0; times < 20; times += 1) {
      const text = `writer ${name} says ${times}`;
      if (times % 4 === 3) {
        await attempt([text], () =>
          it.call({ action: 'replace', old: `writer ${name} says ${times - 1}`, text }),
        );
      } else await attempt([text], () => it.call({ action: 'add', text, request_id: text }));
    }
  };
  const writers = new AbortController();
  const consolidator = async () => {
    for (let times = 0; !writers.signal.aborted; times += 1) {
      const { entries, version } = await it.call({ action: 'view' });
      await sleep(2000);
      const kept = [...entries.slice(10), `consolidated ${times}`];
      await attempt([`consolidated ${times}`], () =>
        it.call({ action: 'consolidate', entries: kept, expect: version }),
      );
    }
  };
  const consolidating = consolidator();
  await Promise.all(Array.from({ length: 50 }, (_, name) => writer(name)));
  writers.abort();
  await consolidating;
  await stop(editor, 'SIGTERM');

  const entries = await it.entries();
  const { came, went } = await historyOf(it);
  assert.ok(accepted.length >= 500, `${accepted.length} accepted, refused: ${JSON.stringify([...refused])}`);
  assert.ok(editor.told.length >= 10);
  for (const text of accepted) {
    assert.ok(came.has(text), `accepted and not in the history: ${text}`);
    assert.ok(entries.includes(text) || went.has(text), `in the history and not in the file: ${text}`);
  }
  for (const line of editor.told) assert.ok(came.has(line), `saved by hand and never seen: ${line}`);
  const known = new Set(['memory-full', 'memory-no-match', 'memory-changed', 'memory-ambiguous']);
  assert.deepEqual(
    [...refused.keys()].filter((code) => !known.has(code)),
    [],
  );
  t.diagnostic(
    `${accepted.length} accepted, ${editor.told.length} saved by hand, refused ${JSON.stringify([...refused])}`,
  );
});

test('what was acknowledged is in the file after kill -9 at any moment, and the file is always whole', async (t) => {
  const at = home.freshDir();
  const root = dirname(dirname(at));
  const random = new SeededRandom(7);
  const acknowledged: string[] = [];
  for (let kills = 0; kills < (isSoak ? 100 : 8); kills += 1) {
    const victim = await start(t, 'add', root);
    await sleep(5 + random.below(115));
    await stop(victim, 'SIGKILL');
    acknowledged.push(...victim.told);
    const { entries } = parse(readFileSync(join(root, 'memory', 'memory.md')));
    const lost = acknowledged.filter((text) => !entries.includes(text));
    assert.deepEqual(lost, [], `after ${kills + 1} kills`);
  }
  const it = await CuratedFixture.open(home, { at, limits: { memory: 1_000_000, user: 1000 } });
  const { came } = await historyOf(it);
  assert.deepEqual((await it.entries()).toSorted(), [...came].toSorted());
  assert.deepEqual(readdirSync(it.dir).toSorted(), ['memory.md', 'user.md']);
  assert.ok(acknowledged.length > 20);
});

test('the block of the same entries is the same bytes in 1,000 random orders of unrelated operations', async () => {
  const at = home.freshDir();
  const clock = new TestClock();
  let it = await CuratedFixture.open(home, { at, clock });
  const { dir } = it;
  await it.add('a fact', 'steps:\n- one\n- two', 'نمی‌خواهم 👨‍👩‍👧');
  await it.call({ action: 'add', file: 'user', text: 'likes tea' });
  const { text } = await it.memory.block();
  const random = new SeededRandom(1);
  const operations: (() => Promise<unknown>)[] = [
    () => it.call({ action: 'view' }),
    () => it.memory.status(),
    () => it.memory.show({ file: 'memory' }),
    () => it.memory.log({ file: 'user', limit: 5 }),
    () => assert.rejects(it.call({ action: 'remove', old: 'no such thing' }), refusal('memory-no-match')),
    () => assert.rejects(it.call({ action: 'add', text: 'x'.repeat(3000) }), refusal('memory-full')),
    () => it.call({ action: 'add', text: 'a fact' }),
    async () => {
      await it.add('for a moment');
      await it.call({ action: 'undo' });
    },
    async () => {
      await it.call({ action: 'add', file: 'user', text: 'for a moment' });
      await it.call({ action: 'remove', file: 'user', old: 'moment' });
    },
    async () => {
      clock.ms += 6 * 60 * 60 * 1000;
    },
  ];
  for (let order = 0; order < 1000; order += 1) {
    await operations[random.below(operations.length)]?.();
    if (order % 250 === 249) {
      await it.stop();
      it = await CuratedFixture.open(home, { at, dir, clock });
    }
    assert.equal((await it.memory.block()).text, text);
  }
});

/** A small file system of its own for the files, gone after the test. */
function mountSmall(t: TestContext, dir: string): boolean {
  mkdirSync(dir, { recursive: true });
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', dir], { stdio: 'ignore' });
  } catch {
    t.skip('a file system can be mounted by root alone');
    return false;
  }
  t.after(() => execFileSync('umount', [dir]));
  return true;
}

test('a full disk is store-full, the file untouched, and the next write works when there is space', async (t) => {
  const at = home.freshDir();
  const dir = join(dirname(dirname(at)), 'memory');
  if (!mountSmall(t, dir)) return;
  const it = await CuratedFixture.open(home, { at });
  await it.add('one');
  const filler = it.path('filler');
  for (let bytes = 64 * 1024; bytes >= 1; bytes = Math.floor(bytes / 2)) {
    try {
      writeFileSync(filler, Buffer.alloc(bytes), { flag: 'a' });
    } catch {
      // Full to within this size; the next one is half of it.
    }
  }
  await assert.rejects(it.add('two'), refusal('store-full', { path: it.path(), reason: 'ENOSPC' }));
  assert.equal(it.text(), '- one\n');
  assert.deepEqual(readdirSync(it.dir).toSorted(), ['filler', 'memory.md', 'user.md']);
  unlinkSync(filler);
  assert.deepEqual((await it.add('two')).entries, ['one', 'two']);
  assert.equal((await it.memory.log({ file: 'memory' })).changes.length, 2);
});

test('a read-only disk is memory-unwritable, read all the same, and the next write works when it ends', async (t) => {
  const at = home.freshDir();
  const dir = join(dirname(dirname(at)), 'memory');
  if (!mountSmall(t, dir)) return;
  const it = await CuratedFixture.open(home, { at });
  await it.add('one');
  execFileSync('mount', ['-o', 'remount,ro', dir]);
  await assert.rejects(it.add('two'), refusal('memory-unwritable', { path: it.path(), reason: 'EROFS' }));
  assert.deepEqual(await it.entries(), ['one']);
  execFileSync('mount', ['-o', 'remount,rw', dir]);
  assert.deepEqual((await it.add('two')).entries, ['one', 'two']);
});

/** Writes that wait go down together, in their order; an error ends them all and says what became of each. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../../../shared/errors.ts';
import { type Commit, CommitQueue, type Group } from './commit-queue.ts';

const commitOf = (key: string, more: Partial<Commit> = {}): Commit => ({
  operations: [{ type: 'del', key }],
  bytes: 1,
  sync: false,
  flush: false,
  ...more,
});
const keysOf = ({ operations }: Group) => operations.map(({ key }) => key);
const outcomeOf = async (commit: Promise<void>) =>
  await commit.then(
    () => 'stored',
    (error: unknown) => `${(error as AppError).code} ${String((error as AppError).details['outcome'])}`,
  );

/** A write that ends when the test says so. */
class SlowDisk {
  readonly groups: Group[] = [];
  #end: (() => void) | undefined;
  readonly write = (group: Group) => {
    assert.equal(this.#end, undefined, 'one write in flight at a time');
    this.groups.push(group);
    return new Promise<void>((resolve, reject) => {
      this.#end = () => {
        this.#end = undefined;
        if (this.failure === undefined) resolve();
        else reject(this.failure);
      };
    });
  };
  failure: Error | undefined;

  async end(): Promise<void> {
    while (this.#end === undefined) await new Promise(setImmediate);
    this.#end();
  }
}

test('what waits while a write runs goes down in the next one, in order', async () => {
  const disk = new SlowDisk();
  const queue = new CommitQueue(disk.write);
  const commits = ['a', 'b'].map((key) => queue.add(commitOf(key)));
  await new Promise(setImmediate);
  commits.push(...['c', 'd', 'e'].map((key) => queue.add(commitOf(key))));
  assert.equal(queue.counts.waiting, 3);
  await disk.end();
  await disk.end();
  await Promise.all(commits);
  assert.deepEqual(disk.groups.map(keysOf), [
    ['a', 'b'],
    ['c', 'd', 'e'],
  ]);
  assert.deepEqual(queue.counts, { waiting: 0, groups: 2, commits: 5 });
});

test('a group is synced or flushed as soon as one of its commits asks for it', async () => {
  const disk = new SlowDisk();
  const queue = new CommitQueue(disk.write);
  const commits = [
    queue.add(commitOf('a')),
    queue.add(commitOf('b', { sync: true })),
    queue.add(commitOf('c')),
  ];
  await disk.end();
  await Promise.all(commits);
  const later = [queue.add(commitOf('d')), queue.add({ ...commitOf('e'), operations: [], flush: true })];
  await disk.end();
  await Promise.all(later);
  assert.deepEqual(
    disk.groups.map(({ sync, flush }) => ({ sync, flush })),
    [
      { sync: true, flush: false },
      { sync: false, flush: true },
    ],
  );
});

test('a group stays below its bytes, and a commit is never split', async () => {
  const disk = new SlowDisk();
  const queue = new CommitQueue(disk.write);
  const megabytes = [1, 2, 6, 3, 3];
  const commits = megabytes.map((size) => queue.add(commitOf(`${size}`, { bytes: size * 1024 * 1024 })));
  for (let i = 0; i < 4; i += 1) await disk.end();
  await Promise.all(commits);
  assert.deepEqual(disk.groups.map(keysOf), [['1', '2'], ['6'], ['3'], ['3']]);
});

test('after an error the group may be stored, what waited is not, and the queue goes on', async () => {
  const disk = new SlowDisk();
  const queue = new CommitQueue(disk.write);
  disk.failure = new Error('IO error: 000003.log: No space left on device');
  const group = [queue.add(commitOf('a')), queue.add(commitOf('b'))].map(outcomeOf);
  await new Promise(setImmediate);
  const behind = queue.add(commitOf('c'));
  await Promise.all([
    disk.end(),
    outcomeOf(behind).then((outcome) => assert.equal(outcome, 'store-full not-stored')),
  ]);
  assert.deepEqual(await Promise.all(group), ['store-full unknown', 'store-full unknown']);

  disk.failure = new Error('IO error: 000003.log: Input/output error');
  const later = outcomeOf(queue.add(commitOf('d')));
  await disk.end();
  assert.equal(await later, 'store-write-failed unknown');

  disk.failure = undefined;
  const last = outcomeOf(queue.add(commitOf('e')));
  await disk.end();
  assert.equal(await last, 'stored');
});

test('more than can wait is refused, and nothing of it is stored', async () => {
  const disk = new SlowDisk();
  const queue = new CommitQueue(disk.write);
  const fits = queue.add(commitOf('a', { bytes: 40 * 1024 * 1024 }));
  assert.equal(
    await outcomeOf(queue.add(commitOf('b', { bytes: 40 * 1024 * 1024 }))),
    'store-write-failed not-stored',
  );
  await disk.end();
  await fits;
  const again = queue.add(commitOf('c', { bytes: 40 * 1024 * 1024 }));
  await disk.end();
  await again;
});

test('drain waits for everything that was added', async () => {
  const disk = new SlowDisk();
  const queue = new CommitQueue(disk.write);
  await queue.drain();
  const commits = [queue.add(commitOf('a'))];
  await new Promise(setImmediate);
  commits.push(queue.add(commitOf('b')));
  let isDrained = false;
  const drained = queue.drain().then(() => (isDrained = true));
  await disk.end();
  assert.equal(isDrained, false);
  await disk.end();
  await drained;
  await Promise.all(commits);
});

/** The same request sent again is done once and answered alike, while it runs, later, and after a restart. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../../../shared/errors.ts';
import type { RecordOperation, RecordStore } from './record-store.ts';
import { RequestLedger } from './requests.ts';
import { entriesOf, put, TestHome } from './test-home.ts';

const home = new TestHome();
const loop = { role: 'loop', method: 'record/put' } as const;
const dayMs = 24 * 60 * 60 * 1_000;
const isReused = (error: unknown) => error instanceof AppError && error.code === 'request-reused';

/** Work that stores one record each time it is done, and answers with how often that was. */
class Worker {
  readonly store: RecordStore;
  readonly ledger: RequestLedger;
  done = 0;
  nowMs = 1_000_000_000_000;

  constructor(store: RecordStore) {
    this.store = store;
    this.ledger = new RequestLedger(store, () => this.nowMs);
  }

  readonly work = async (remember: (reply: { times: number }) => readonly RecordOperation[]) => {
    this.done += 1;
    const reply = { times: this.done };
    await this.store.commit([put(`work/${this.done}`), ...remember(reply)]);
    return reply;
  };
}

const freshWorker = async () => new Worker(await home.open(home.freshDir()));

test('the same id with the same content is done once, whatever the order of its members', async () => {
  const { ledger, work, ...worker } = await freshWorker();
  const first = await ledger.once(loop, { request_id: 'a', x: { p: 1, q: [1, 2] }, y: 2 } as object, work);
  const again = await ledger.once(loop, { y: 2, x: { q: [1, 2], p: 1 }, request_id: 'a' } as object, work);
  assert.deepEqual(again, first);
  assert.deepEqual(Object.keys(await entriesOf(worker.store, { gte: 'work/' })), ['work/1']);
});

test('a request that still runs answers the second one as well', async () => {
  const { ledger, work } = await freshWorker();
  const replies = await Promise.all(
    Array.from({ length: 20 }, () => ledger.once(loop, { request_id: 'a' }, work)),
  );
  assert.deepEqual(
    replies,
    Array.from({ length: 20 }, () => ({ times: 1 })),
  );
});

test('the work is started before the call returns, so that writes keep their order', async () => {
  const worker = await freshWorker();
  const running = worker.ledger.once(loop, { request_id: 'a' }, worker.work);
  assert.equal(worker.done, 1);
  await running;
});

test('the answer is the same after a restart', async () => {
  const dir = home.freshDir();
  const before = new Worker(await home.open(dir));
  const reply = await before.ledger.once(loop, { request_id: 'a' }, before.work);
  await before.store.close();
  const after = new Worker(await home.open(dir));
  assert.deepEqual(await after.ledger.once(loop, { request_id: 'a' }, after.work), reply);
  assert.equal(after.done, 0);
});

test('other content under a used id is refused, running or done', async () => {
  const { ledger, work } = await freshWorker();
  const running = ledger.once(loop, { request_id: 'a', x: 1 } as object, work);
  await assert.rejects(ledger.once(loop, { request_id: 'a', x: 2 } as object, work), isReused);
  await running;
  await assert.rejects(ledger.once(loop, { request_id: 'a', x: 2 } as object, work), isReused);
  await assert.rejects(
    ledger.once({ ...loop, method: 'memory' }, { request_id: 'a', x: 1 } as object, work),
    isReused,
  );
});

test('roles do not meet, and neither do ids that only look alike', async () => {
  const worker = await freshWorker();
  const ids = ['a', 'a/b', 'a%2Fb', 'é', '😀'.repeat(128), ' '];
  for (const role of ['loop', 'gate'] as const) {
    for (const id of ids) await worker.ledger.once({ ...loop, role }, { request_id: id }, worker.work);
  }
  assert.equal(worker.done, 2 * ids.length);
});

test('without an id the work is done each time', async () => {
  const worker = await freshWorker();
  for (let i = 0; i < 3; i += 1) await worker.ledger.once(loop, {}, worker.work);
  assert.equal(worker.done, 3);
});

test('a refusal is not remembered', async () => {
  const { ledger, work } = await freshWorker();
  const refuse = () => Promise.reject(new AppError('rejected', 'no'));
  await assert.rejects(ledger.once(loop, { request_id: 'a' }, refuse), /no/);
  const thrower = (): Promise<never> => {
    throw new AppError('rejected', 'at once');
  };
  await assert.rejects(ledger.once(loop, { request_id: 'a' }, thrower), /at once/);
  assert.deepEqual(await ledger.once(loop, { request_id: 'a' }, work), { times: 1 });
});

test('an answer is kept for a day at least, and swept after two', async () => {
  const worker = await freshWorker();
  for (let i = 0; i < 1_200; i += 1) {
    void worker.ledger.once(loop, { request_id: `old ${i}` }, worker.work);
  }
  await worker.store.flush();
  worker.nowMs += dayMs;
  await worker.ledger.once(loop, { request_id: 'new' }, worker.work);
  assert.equal(await worker.ledger.sweep(), 0);
  worker.nowMs += dayMs + 1;
  assert.equal(await worker.ledger.sweep(), 1_200);
  assert.equal(await worker.ledger.sweep(), 0);
  const { done } = worker;
  await worker.ledger.once(loop, { request_id: 'new' }, worker.work);
  assert.equal(worker.done, done);
});

test('a sweep stops at a signal', async () => {
  const worker = await freshWorker();
  await worker.ledger.once(loop, { request_id: 'a' }, worker.work);
  worker.nowMs += 3 * dayMs;
  assert.equal(await worker.ledger.sweep(AbortSignal.abort()), 0);
  assert.equal(await worker.ledger.sweep(), 1);
});

/** The log of a session when writes fail, on real files. */
import assert from 'node:assert/strict';
import { mkdtemp, open, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import type { SessionBody, SessionRecord } from '../../../shared/protocol/sessions.ts';
import { scriptedBaseline } from '../testing/scripted-turn.ts';
import { SessionLog } from './session-log.ts';

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'session-log-'));
  path = join(folder, 's1.jsonl');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const first: SessionBody = {
  type: 'session',
  id: 's1',
  origin: 'person',
  model: 'test',
  baseline: scriptedBaseline,
};
const turn = (text: string, number = 1): SessionBody => ({ type: 'turn', turn: number, text });
const sync = { sync: true };

async function created(): Promise<SessionLog> {
  return SessionLog.create(path, [{ body: first }]);
}

async function withTurns(...texts: string[]): Promise<void> {
  const log = await created();
  for (const text of texts) await log.append(turn(text), { sync: false });
  await log.close();
}

async function reopened() {
  const records: SessionRecord[] = [];
  const log = await SessionLog.open(path, { onRecord: (record) => records.push(record) });
  return { log, records, mended: log.mended };
}

const texts = (records: SessionRecord[]) =>
  records.flatMap((record) => (record.type === 'turn' ? [record.text] : []));

test('a failed write leaves nothing behind, and the next record is whole', async () => {
  let left = Infinity;
  let errno = 'ENOSPC';
  const openFile = (async (...args: Parameters<typeof open>) => {
    const file = await open(...args);
    const write = file.write.bind(file) as (bytes: Buffer, at: number, length: number) => Promise<unknown>;
    file.write = (async (bytes: Buffer, at: number, length: number) => {
      if (left <= 0) throw Object.assign(new Error('failed'), { code: errno });
      const some = Math.min(length, left);
      left -= some;
      return write(bytes, at, some);
    }) as unknown as typeof file.write;
    return file;
  }) as typeof open;
  const log = await SessionLog.create(path, [{ body: first }], { openFile });

  left = 10;
  await assert.rejects(log.append(turn('a'), sync), { code: 'store-full' });
  errno = 'EIO';
  await assert.rejects(log.append(turn('b'), sync), { code: 'session-write-failed' });
  left = Infinity;
  const record = await log.append(turn('c'), sync);
  await log.close();

  assert.equal(record.seq, 1);
  const { log: again, records, mended } = await reopened();
  await again.close();
  assert.deepEqual([texts(records), mended], [['c'], undefined]);
});

test('a record whose sync failed is taken back', async () => {
  let fails = false;
  const openFile = (async (...args: Parameters<typeof open>) => {
    const file = await open(...args);
    const datasync = file.datasync.bind(file);
    file.datasync = () =>
      fails ? Promise.reject(Object.assign(new Error('failed'), { code: 'EIO' })) : datasync();
    return file;
  }) as typeof open;
  const log = await SessionLog.create(path, [{ body: first }], { openFile });
  await log.append(turn('a'), sync);

  fails = true;
  await assert.rejects(log.append(turn('b'), sync), { code: 'session-write-failed' });
  fails = false;
  await log.append(turn('c'), sync);
  await log.close();

  const { log: again, records } = await reopened();
  await again.close();
  assert.deepEqual(texts(records), ['a', 'c']);
});

test('appends that are made at once are written in their order', async () => {
  const log = await created();
  const numbers = Array.from({ length: 50 }, (_, n) => n);

  const records = await Promise.all(numbers.map((n) => log.append(turn(String(n)), { sync: n % 10 === 0 })));
  await log.close();

  assert.deepEqual(
    records.map(({ seq }) => seq),
    numbers.map((n) => n + 1),
  );
  const { log: again, records: read } = await reopened();
  await again.close();
  assert.deepEqual(texts(read), numbers.map(String));
});

test('a creation that fails leaves no file, and an older log in its place', async () => {
  await withTurns('old');
  const failing = (function* () {
    yield { body: first };
    throw new Error('no more');
  })();

  await assert.rejects(SessionLog.create(path, failing), { code: 'session-write-failed' });

  const { log, records } = await reopened();
  await log.close();
  assert.deepEqual(texts(records), ['old']);
  await assert.rejects(stat(`${path}.tmp`), { code: 'ENOENT' });
});

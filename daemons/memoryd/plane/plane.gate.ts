/**
 * Goal: the record plane keeps its word through a real memoryd: runs apart, roles decided by the socket, writes in order,
 * and a long run listed without holding it. Method: the daemon as a child process, its own client, and its memory as
 * the kernel counts it.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import { Client } from '../../../shared/client.ts';
import { homeOf } from '../../../shared/home.ts';
import { memorydProtocol, type MemorydProtocol } from '../../../shared/protocol/memoryd.ts';
import type { Role } from '../../../shared/protocol/method.ts';
import { startDaemon, temporaryHome, type RunningDaemon } from '../../../shared/testing/start-daemon.ts';
import { sparse } from './plane-fixture.ts';

const episodesOfRun = 100_000;
const inFlight = 64;
/** What listing may add to memoryd: the pages of the engine and the replies that wait to be read. */
const growthBytesMax = 128 * 1024 * 1024;

interface Started {
  readonly home: string;
  readonly memoryd: (role?: Role) => Client<MemorydProtocol>;
  readonly daemon: () => RunningDaemon;
  readonly restart: (how: 'stop' | 'kill') => Promise<void>;
}

async function start(t: TestContext): Promise<Started> {
  const temporary = temporaryHome();
  const { home } = temporary;
  let daemon = await startDaemon('memoryd', home);
  const clients = new Map<Role, Client<MemorydProtocol>>();
  const memoryd = (role: Role = 'loop') => {
    const client =
      clients.get(role) ??
      new Client(homeOf({ home }).memorySockets[role], memorydProtocol, {
        unavailable: 'memory-unavailable',
      });
    clients.set(role, client);
    return client;
  };
  t.after(async () => {
    for (const client of clients.values()) client.close();
    await daemon.stop();
    temporary.remove();
  });
  const restart = async (how: 'stop' | 'kill') => {
    await daemon[how]();
    daemon = await startDaemon('memoryd', home);
  };
  return { home, memoryd, daemon: () => daemon, restart };
}

/** Resident memory in bytes: what it is now, and at its highest since this was last asked. */
function residentBytes(pid: number): { now: number; highest: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const bytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) * 1024;
  // The kernel starts counting anew.
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
  return { now: bytes('VmRSS'), highest: bytes('VmHWM') };
}

test('a list of one run never shows what another wrote', async (t) => {
  const memoryd = (await start(t)).memoryd();
  const runs = ['a', 'a/b', 'a/', 'a%2Fb', 'a0'];
  for (const run of runs)
    await memoryd.call('record/put', { kind: 'episode', record: { ...sparse.episode, run_id: run } });
  for (const run of runs) {
    const { records } = await memoryd.call('record/list', { kind: 'episode', run_id: run });
    assert.deepEqual(
      records.map(({ record }) => record['run_id']),
      [run],
    );
  }
});

test('only what came in on the socket of the gate may say that a goal is met', async (t) => {
  const { memoryd } = await start(t);
  const put = (role: Role, satisfied: boolean) =>
    memoryd(role).call('record/put', {
      kind: 'goal_state',
      run_id: 'r',
      record: { ...sparse.goal_state, satisfied },
    });
  const get = async () =>
    (await memoryd().call('record/get', { kind: 'goal_state', run_id: 'r', target: 't' })).record;

  for (const role of ['loop', 'ops'] as const)
    await assert.rejects(put(role, true), { code: 'not-permitted' });
  assert.equal(await get(), null);
  await put('gate', true);
  assert.equal((await get())?.['satisfied'], true);
  await put('gate', false);
  assert.equal((await get())?.['satisfied'], false);
});

test('what is wrong is answered by field, value and code, and the connection goes on', async (t) => {
  const memoryd = (await start(t)).memoryd();
  await assert.rejects(
    memoryd.call('record/put', { kind: 'ledger', record: { ...sparse.ledger, run_id: ' ' } }),
    {
      code: 'rejected',
      details: { kind: 'ledger', field: 'run_id', value: ' ' },
    },
  );
  await assert.rejects(memoryd.call('record/list', { kind: 'ledger', cursor: 'x' }), {
    name: 'ParamsError',
    field: 'cursor',
  });
  assert.deepEqual(await memoryd.call('record/list', { kind: 'ledger' }), { records: [] });
});

test('writes of one connection take effect in the order sent, and the sequence goes on after a crash', async (t) => {
  const { memoryd, restart } = await start(t);
  const details = Array.from({ length: 500 }, (_, at) => String(at));
  const put = (detail: string) =>
    memoryd().call('record/put', { kind: 'ledger', record: { ...sparse.ledger, detail } });

  await Promise.all(details.slice(0, 250).map(put));
  await restart('kill');
  await Promise.all(details.slice(250).map(put));

  const { records } = await memoryd().call('record/list', { kind: 'ledger', limit: 1000 });
  assert.deepEqual(
    records.map(({ record }) => record['detail']),
    details,
  );
  const seqs = records.map(({ seq = 0 }) => seq);
  assert.deepEqual(
    seqs,
    [...new Set(seqs)].toSorted((a, b) => a - b),
  );
});

test('the same request_id stores once, also across a restart', async (t) => {
  const { memoryd, restart } = await start(t);
  const request = { kind: 'ledger', record: { ...sparse.ledger }, request_id: 'once' } as const;
  const first = await Promise.all([
    memoryd().call('record/put', request),
    memoryd().call('record/put', request),
  ]);
  await restart('stop');
  const again = await memoryd().call('record/put', request);
  assert.deepEqual([first[1], again], [first[0], first[0]]);
  assert.equal((await memoryd().call('record/list', { kind: 'ledger' })).records.length, 1);
  await assert.rejects(
    memoryd().call('record/put', { ...request, record: { ...sparse.ledger, detail: 'other' } }),
    {
      code: 'request-reused',
    },
  );
});

test(`listing ${episodesOfRun} episodes page by page keeps the memory of memoryd bounded`, async (t) => {
  const { memoryd, daemon, restart } = await start(t);
  const record = { ...sparse.episode, output: 'What the node said, and some more of it. '.repeat(9) };
  for (let at = 0; at < episodesOfRun; at += inFlight) {
    const count = Math.min(inFlight, episodesOfRun - at);
    await Promise.all(
      Array.from({ length: count }, () => memoryd().call('record/put', { kind: 'episode', record })),
    );
  }
  await restart('stop');
  await memoryd().call('record/list', { kind: 'episode', run_id: 'r', limit: 1 });
  const { pid } = daemon();
  const before = residentBytes(pid).now;

  let listed = 0;
  let last = 0;
  let cursor: string | undefined;
  do {
    const params = {
      kind: 'episode',
      run_id: 'r',
      limit: 1000,
      ...(cursor === undefined ? {} : { cursor }),
    } as const;
    const { records, next } = await memoryd().call('record/list', params);
    for (const { seq = 0 } of records) {
      assert.ok(seq > last);
      last = seq;
    }
    listed += records.length;
    cursor = next;
  } while (cursor !== undefined);

  const grown = residentBytes(pid).highest - before;
  t.diagnostic(
    `memory ${Math.round(before / 2 ** 20)} MiB before, ${Math.round(grown / 2 ** 20)} MiB more at most while listing`,
  );
  assert.equal(listed, episodesOfRun);
  assert.ok(grown < growthBytesMax, `${grown} bytes more`);
});

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Client } from '../../shared/client.ts';
import { AppError } from '../../shared/errors.ts';
import { memorydProtocol } from '../../shared/protocol/memoryd.ts';
import { MemoryLink, type MemoryCaller } from './memory.ts';

function linkTo(answer: (method: string) => Promise<unknown>, blockTimeoutMs = 1000): MemoryLink {
  const call = (method: string) => answer(method);
  return new MemoryLink({ call } as unknown as MemoryCaller, { blockTimeoutMs });
}

const failing = (code: 'memory-unreadable' | 'memory-unavailable' | 'session-unknown', details = {}) =>
  linkTo(() => Promise.reject(new AppError(code, 'no', { details })));

async function causeOfNoBlock(link: MemoryLink): Promise<unknown> {
  const thrown: unknown = await link.block().catch((error: unknown) => error);
  assert.ok(thrown instanceof AppError);
  assert.equal(thrown.code, 'memory-unavailable');
  assert.equal(thrown.toData().runbook, 'memory-unavailable');
  return thrown.details['cause'];
}

test('no block is memory-unavailable whatever the reason, and the cause says which', async () => {
  assert.equal(await causeOfNoBlock(failing('memory-unreadable')), 'memory-unreadable');
  assert.equal(await causeOfNoBlock(failing('memory-unavailable', { errno: 'ENOENT' })), 'ENOENT');
  assert.equal(await causeOfNoBlock(linkTo(() => new Promise(() => {}), 5)), 'timeout');
  assert.equal(await causeOfNoBlock(linkTo(() => Promise.resolve({}))), 'no-block-in-reply');
  assert.equal(await causeOfNoBlock(linkTo(() => Promise.reject(new TypeError('bug')))), 'internal');
});

test('a memoryd that hangs up is told from one that does not answer', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'hangs-up-'));
  const path = join(folder, 'memory.sock');
  const server = createServer((socket) => socket.on('error', () => {}).destroy()).listen(path);
  await once(server, 'listening');
  const client = new Client(path, memorydProtocol, { unavailable: 'memory-unavailable' });
  t.after(() => {
    client.close();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  assert.equal(await causeOfNoBlock(new MemoryLink(client, { blockTimeoutMs: 10_000 })), 'closed');
});

test('updated never rejects; a lost one is counted', async () => {
  const link = failing('memory-unavailable');

  assert.equal(await link.updated('s1'), false);

  assert.equal(link.counters.updatesLost, 1);
  assert.equal(link.counters.lastFailure?.method, 'updated');
});

test('a session that memoryd never saw needs no forgetting', async () => {
  const link = failing('session-unknown');

  assert.equal(await link.updated('s1'), true);
  assert.equal(link.counters.updatesLost, 0);
});

test('updates that pile up behind a memoryd that hangs are bounded', async () => {
  const link = linkTo(() => new Promise(() => {}));

  const lost = await Promise.race(Array.from({ length: 65 }, (_, at) => link.updated(`s${at}`)));

  assert.equal(lost, false);
  assert.equal(link.counters.asked, 64);
});

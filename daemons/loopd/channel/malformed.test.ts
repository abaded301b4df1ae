/** Goal: a request that is malformed is answered by its id and forgotten. Method: raw bytes over the real socket. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Lab } from '../testing/channel-lab.ts';

test('malformed requests are answered by their ids, and however many there were the connection is read on', async (t) => {
  const client = await (await Lab.start(t)).raw(t);
  const many = 200;
  for (let id = 0; id < many; id += 1) {
    const wrong = id % 2 === 0 ? { jsonrpc: '1.0', id, method: 'x' } : { jsonrpc: '2.0', id, method: 7 };
    client.write(`${JSON.stringify(wrong)}\n`);
  }
  client.write({ id: 'last', method: 'session/list', params: {} });

  assert.ok((await client.reply('last')).result);
  for (let id = 0; id < many; id += 1) assert.equal((await client.reply(id)).error?.code, -32600);
});

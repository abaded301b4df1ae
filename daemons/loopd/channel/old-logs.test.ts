/** Logs that were there before the daemon: found page by page, mended where a crash left them torn, and told about. */
import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { failure } from '../testing/channel-clients.ts';
import { Lab, say } from '../testing/channel-lab.ts';

test('a cursor that no list gave is refused by name, not answered with an empty list', async (t) => {
  const lab = await Lab.start(t);
  const client = await lab.client(t);
  await client.newSession();

  for (const cursor of ['%%%', '', '2026', '2026-11-30T00:00:00.000Z ../x']) {
    const { code, data } = await failure(client.agent.request('session/list', { cursor }));
    assert.deepEqual([code, data['field']], [-32602, 'cursor'], cursor);
  }
});

test('a log that a crash left torn is mended, and that is told', async (t) => {
  const first = await Lab.start(t, { steps: [say('one')] });
  const client = await first.client(t);
  const id = await client.newSession();
  await client.prompt(id, 'hello');
  await first.stop();
  appendFileSync(join(first.home, 'sessions', `${id}.jsonl`), '{"v":1,"seq":4,"a');
  const lab = await Lab.start(t, { home: first.home, steps: [say('two')] });

  await (await lab.client(t)).prompt(id, 'again');

  const told = lab.logged.find(({ message }) => message === 'the end of a session log was mended');
  assert.deepEqual([told?.['session'], told?.['cut_bytes']], [id, 17]);
  assert.equal((await lab.channel.status())['logs_mended'], 1);
});

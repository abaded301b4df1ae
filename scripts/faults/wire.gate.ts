/**
 * Goal: no bytes on a socket stop a daemon or go without exactly the reply that is due, and its memory stays flat.
 * Method: a grammar of messages against both real daemons, an oracle that says of each line what is due, and clients
 * that are slow, silent, greedy or gone. SEED=… repeats it, SOAK=1 is the long run.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { SeededRandom } from '../../daemons/memoryd/store/seeded-random.ts';
import { errorKinds } from '../../shared/errors.ts';
import { homeOf, type Home } from '../../shared/home.ts';
import { temporaryHome } from '../../shared/testing/start-daemon.ts';
import { LineClient, type Message } from './testing/line-client.ts';
import { Victim } from './testing/victim.ts';
import { channelDue, lineOf, memorydDue, type Due } from './testing/wire-grammar.ts';
import { channelSentences, memorydSentences } from './testing/wire-sentences.ts';

const isSoak = process.env['SOAK'] === '1';
const messages = isSoak ? { memoryd: 800_000, loopd: 200_000 } : { memoryd: 80_000, loopd: 20_000 };
const linesOfConnection = 400;
const lanes = 4;
const mebibyte = 1024 * 1024;
const growthBytesMax = 160 * mebibyte;
const connectionsMax = 256;
const answerMsMax = 60_000;

const random = new SeededRandom();
const temporary = temporaryHome();
const home: Home = homeOf({ home: temporary.home });
const daemons: Victim[] = [];

before(async () => {
  for (const name of ['memoryd', 'loopd'] as const) {
    const daemon = new Victim(name, home.home);
    daemons.push(daemon);
    assert.ok(await daemon.ready, daemon.output);
  }
});
after(async () => {
  for (const daemon of daemons) assert.equal(await daemon.stop(), 0, daemon.output);
  temporary.remove();
});

function residentBytes({ pid }: Victim): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

function victim(name: 'memoryd' | 'loopd'): Victim {
  const daemon = daemons[name === 'memoryd' ? 0 : 1];
  assert.ok(daemon);
  return daemon;
}

/** Everything that came back until the daemon closed. `chunks` are sent as they are, then the end. */
function exchange(
  path: string,
  chunks: readonly Buffer[],
  { isRude }: { isRude: boolean },
): Promise<Message[]> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path, allowHalfOpen: true });
    const received: Buffer[] = [];
    const late = setTimeout(() => reject(new Error('no end of the connection')), answerMsMax);
    socket.on('data', (chunk: Buffer) => {
      received.push(chunk);
      if (isRude) socket.destroy();
    });
    socket.on('error', (error) => (isRude ? undefined : reject(error)));
    socket.once('close', () => {
      clearTimeout(late);
      const lines = isRude ? [] : Buffer.concat(received).toString().split('\n').slice(0, -1);
      resolve(lines.map((line) => JSON.parse(line) as Message));
    });
    socket.on('end', () => socket.end());
    for (const chunk of chunks) socket.write(chunk);
    socket.end();
  });
}

async function opened(path: string): Promise<LineClient> {
  const client = await LineClient.open(path);
  assert.ok(client);
  return client;
}

/** A client that is served: whoever was there before may not be gone yet. */
async function served(path: string, method: string): Promise<LineClient> {
  for (;;) {
    const client = await opened(path);
    if ('result' in (await client.ask(method, {}))) return client;
    client.destroy();
  }
}

/** Cut at any byte, as a stream may be. */
function chunksOf(bytes: Buffer): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    const size = random.below(3) === 0 ? 1 + random.below(20) : 1 + random.below(4000);
    chunks.push(bytes.subarray(at, at + size));
    at += size;
  }
  return chunks;
}

function idCounts(ids: readonly (string | number | null | undefined)[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const id of ids) counts.set(JSON.stringify(id), (counts.get(JSON.stringify(id)) ?? 0) + 1);
  return counts;
}

function checkReplies(lines: readonly Buffer[], dues: readonly Due[], received: readonly Message[]): void {
  const replies = received.filter(({ method }) => method === undefined);
  for (const { error, result, id } of replies) {
    assert.ok((error === undefined) !== (result === undefined), `neither result nor error, or both: ${id}`);
    if (error === undefined) continue;
    assert.ok(Number.isInteger(error.code) && typeof error.message === 'string');
    const code = error.data?.['code'];
    assert.ok(code === undefined || Object.hasOwn(errorKinds, code as string), JSON.stringify(code));
    const at = dues.findIndex((due) => due.id === id);
    assert.notEqual(code, 'internal', `${error.message}: ${lines[at]?.toString().slice(0, 500)}`);
  }
  const due = idCounts(dues.filter((one) => one.id !== undefined).map((one) => one.id));
  const got = idCounts(replies.map(({ id }) => id));
  const free = dues.filter(({ isFree }) => isFree === true).length;
  const [dueNameless = 0, gotNameless = 0] = [due.get('null'), got.get('null')];
  assert.ok(
    gotNameless >= dueNameless && gotNameless <= dueNameless + free,
    `${gotNameless} of ${dueNameless} nameless`,
  );
  due.delete('null');
  got.delete('null');
  assert.deepEqual(new Set([...got].map(String)), new Set([...due].map(String)));
}

async function fuzz(name: 'memoryd' | 'loopd'): Promise<void> {
  const isMemoryd = name === 'memoryd';
  const path = isMemoryd ? home.memorySockets.loop : home.channelSocket;
  const line = lineOf(isMemoryd ? memorydSentences : channelSentences);
  const dueOf = isMemoryd ? memorydDue : channelDue;
  const counts = { sent: 0, replies: 0 };
  let grown = 0;
  let basis = 0;
  const lane = async () => {
    while (counts.sent < messages[name]) {
      counts.sent += linesOfConnection;
      const seed = random.below(2 ** 31);
      const lines = fc.sample(line, { seed, numRuns: linesOfConnection });
      const bytes = Buffer.concat(lines.flatMap((one) => [one, Buffer.from('\n')]));
      const isRude = random.below(20) === 0;
      const received = await exchange(path, chunksOf(bytes), { isRude });
      counts.replies += received.length;
      if (!isRude) {
        try {
          checkReplies(lines, lines.map(dueOf), received);
        } catch (cause) {
          throw new Error(`SEED=${random.seed}, lines of seed ${seed}: ${String(cause)}`, { cause });
        }
      }
      // What a first tenth of it took is what code and caches take.
      if (counts.sent > messages[name] / 10) basis ||= residentBytes(victim(name));
      if (basis > 0) grown = Math.max(grown, residentBytes(victim(name)) - basis);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  console.log(
    `figures: ${name} ${counts.sent} messages, ${counts.replies} replies, memory ${Math.round(basis / mebibyte)} MiB, ` +
      `at most ${Math.round(grown / mebibyte)} more`,
  );
  assert.ok(counts.replies > counts.sent / 2);
  assert.ok(grown < growthBytesMax, `${grown} bytes more`);
}

test(`memoryd answers ${messages.memoryd} messages of a grammar as each is due`, () => fuzz('memoryd'));
test(`loopd answers ${messages.loopd} messages of a grammar as each is due`, () => fuzz('loopd'));

for (const name of ['memoryd', 'loopd'] as const) {
  const path = name === 'memoryd' ? home.memorySockets.loop : home.channelSocket;
  const method = name === 'memoryd' ? 'block' : 'session/list';

  test(`${name} closes 200 MB without a line end at its limit, with its name`, async () => {
    const basis = residentBytes(victim(name));
    const chunk = Buffer.alloc(mebibyte, 'x');
    const socket = connect(path);
    let reply = '';
    let sent = 0;
    let highest = basis;
    await new Promise<void>((resolve) => {
      socket.on('data', (data: Buffer) => (reply += data.toString()));
      socket.on('error', () => socket.destroy());
      socket.once('close', () => resolve());
      const send = () => {
        highest = Math.max(highest, residentBytes(victim(name)));
        if (socket.destroyed || (sent += 1) > 200) return void socket.end();
        if (socket.write(chunk)) setImmediate(send);
        else socket.once('drain', send);
      };
      socket.once('connect', send);
    });
    console.log(
      `figures: ${name} ${sent} MB without a line end, ${Math.round((highest - basis) / mebibyte)} MiB more`,
    );
    assert.match(reply, /message-too-large/);
    assert.ok(highest - basis < growthBytesMax);
  });

  test(`${name} serves 5,000 connections in turn, and outlives 1,000 that are gone before the reply`, async () => {
    for (let turn = 0; turn < 5_000; turn += 50) {
      const clients = await Promise.all(Array.from({ length: 50 }, () => served(path, method)));
      for (const client of clients) client.destroy();
    }
    for (let turn = 0; turn < 1_000; turn += 1) {
      const client = await LineClient.open(path);
      client?.ask(method, {}).catch(() => undefined);
      client?.destroy();
    }
    (await served(path, method)).destroy();
  });

  test(`of 300 connections at once ${name} serves ${connectionsMax} and tells the others`, async () => {
    const clients = await Promise.all(Array.from({ length: 300 }, () => opened(path)));
    const told = new Set<number>();
    for (const [at, client] of clients.entries()) {
      client.onMessage = ({ error }) => {
        assert.equal(error?.data?.['code'], 'too-many-connections');
        told.add(at);
      };
    }
    const answers = await Promise.all(clients.map((client) => client.ask(method, {})));
    const answered = answers.filter((answer) => 'result' in answer).length;
    for (const client of clients) client.destroy();
    assert.ok(answered <= connectionsMax && answered > connectionsMax - 10, `${answered} served`);
    assert.equal(told.size, 300 - answered);
  });

  test(`a client of ${name} that never reads is dropped, one that is silent is not, and others are answered`, async () => {
    const silent = await served(path, method);
    const greedy = connect(path);
    greedy.on('error', () => greedy.destroy());
    greedy.pause();
    const gone = new Promise<void>((resolve) => greedy.once('close', () => resolve()));
    const basis = residentBytes(victim(name));
    const line = `${JSON.stringify({ jsonrpc: '2.0', id: 'x'.repeat(20_000), method, params: {} })}\n`;
    // Written until the daemon takes no more: it stops to read, or drops whoever does not.
    const written = await new Promise<number>((resolve) => {
      let lines = 0;
      const send = () => {
        for (let more = 0; more < 50 && lines < 4_000 && !greedy.destroyed; more += 1) {
          greedy.write(line);
          lines += 1;
        }
        if (greedy.destroyed || lines >= 4_000) return resolve(lines);
        setTimeout(send, 2);
      };
      greedy.once('connect', send);
    });
    const other = await served(path, method);
    await silent.call(method, {});
    const grown = residentBytes(victim(name)) - basis;
    console.log(
      `figures: ${name} ${written} requests of one that never reads, ${Math.round(grown / mebibyte)} MiB more`,
    );
    greedy.destroy();
    await gone;
    for (const client of [other, silent]) client.destroy();
    assert.ok(grown < growthBytesMax, `${grown} bytes more`);
  });
}

test('text that arrives byte by byte is whole, with CRLF, several requests at once and no last line end', async () => {
  const put = { run_id: 'bytes', key: 'k', value: 'é漢😀' };
  const lines = [
    { jsonrpc: '2.0', id: 1, method: 'record/put', params: { kind: 'scratchpad', record: put } },
    { jsonrpc: '2.0', id: 2, method: 'record/flush', params: {} },
    {
      jsonrpc: '2.0',
      id: 3,
      method: 'record/get',
      params: { kind: 'scratchpad', run_id: 'bytes', key: 'k' },
    },
  ].map((one) => JSON.stringify(one));
  const bytes = Buffer.from(lines.join('\r\n'));
  const single = [...bytes].map((byte) => Buffer.from([byte]));
  const replies = await exchange(home.memorySockets.loop, single, { isRude: false });
  assert.deepEqual(new Set(replies.map(({ id }) => id)), new Set([1, 2, 3]));
  const again = await exchange(home.memorySockets.loop, [bytes], { isRude: false });
  const got = again.find(({ id }) => id === 3)?.result?.['record'] as Record<string, unknown>;
  assert.equal(got['value'], put.value);
});

/**
 * Goal: systemd hears what a daemon says, and a daemon that systemd waits for never starts deaf and dumb.
 * Method: a receiver in perl, which Debian always has, prints the datagrams that arrive on a real socket.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { fstatSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { openDatagram } from './datagram.ts';
import { AppError } from './errors.ts';
import { messageIdOf, openJournal } from './journal.ts';
import { createNotifier } from './notify.ts';

const hasPerl = spawnSync('perl', ['-MSocket', '-e', '1']).status === 0;
const options = hasPerl || process.env['REQUIRE_ALL'] ? {} : { skip: 'perl is not installed' };

const receiverProgram = `
  use Socket; $| = 1;
  my ($path) = @ARGV; $path =~ s/^\\@/\\0/;
  socket(my $s, AF_UNIX, SOCK_DGRAM, 0) or die "socket: $!";
  bind($s, pack_sockaddr_un($path)) or die "bind: $!";
  print "listening\\n";
  while (defined recv($s, my $data, 65536, 0)) { print unpack('H*', $data), "\\n"; }`;

/** The datagrams that arrive at `address`, one after the other. */
async function receive(t: TestContext, address: string): Promise<() => Promise<string>> {
  const child = spawn('perl', ['-e', receiverProgram, address], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  assert.equal((await lines.next()).value, 'listening');
  return async () => Buffer.from(String((await lines.next()).value), 'hex').toString('utf8');
}

function socketPath(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'loopkeep-notify-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return join(dir, 'notify.sock');
}

const isNotifyUnavailable = (error: unknown) =>
  error instanceof AppError && error.code === 'notify-unavailable';

test('systemd hears ready, the state and stopping, in this order', options, async (t) => {
  const path = socketPath(t);
  const next = await receive(t, path);
  const notifier = await createNotifier({ NOTIFY_SOCKET: path });

  await notifier.ready();
  await notifier.status('serving\nREADY=0 beside a damaged store');
  await notifier.stopping();

  assert.equal(await next(), 'READY=1\nSTATUS=ready');
  assert.equal(await next(), 'STATUS=serving READY=0 beside a damaged store');
  assert.equal(await next(), 'STOPPING=1\nSTATUS=stopping');
});

test('an abstract address works as a path does', options, async (t) => {
  const address = `@loopkeep-test-${process.pid}`;
  const next = await receive(t, address);

  await (await createNotifier({ NOTIFY_SOCKET: address })).ready('open');

  assert.equal(await next(), 'READY=1\nSTATUS=open');
});

test('the watchdog is fed while the daemon is well and not after', options, async (t) => {
  const path = socketPath(t);
  const next = await receive(t, path);
  const notifier = await createNotifier({ NOTIFY_SOCKET: path, WATCHDOG_USEC: '20000' });
  let asked = 0;

  await new Promise<void>((resolve) => {
    notifier.startWatchdog(() => {
      asked += 1;
      if (asked === 4) resolve();
      return asked <= 2;
    });
    // The watchdog's own timer keeps nothing alive; this one does until it was asked often enough.
    const alive = setInterval(() => asked >= 4 && clearInterval(alive), 5);
  });
  await notifier.status('done');

  assert.deepEqual([await next(), await next(), await next()], ['WATCHDOG=1', 'WATCHDOG=1', 'STATUS=done']);
});

test('a watchdog that was set for another process is left alone', async () => {
  const sent: string[] = [];
  const open = async () => (_: string, message: Uint8Array) => {
    sent.push(Buffer.from(message).toString());
    return 0;
  };
  const notifier = await createNotifier(
    { NOTIFY_SOCKET: '/x', WATCHDOG_USEC: '20000', WATCHDOG_PID: String(process.ppid) },
    open,
  );

  notifier.startWatchdog(() => true);

  assert.deepEqual(sent, []);
});

test('without systemd nothing is loaded and nothing is sent', async () => {
  const notifier = await createNotifier({}, () => {
    throw new Error('must not be loaded');
  });

  await notifier.ready();
  notifier.startWatchdog(() => true);
  await notifier.stopping();
});

test('a systemd that waits and a koffi that is missing end the start with notify-unavailable', async () => {
  const open = () => openDatagram(() => Promise.reject(new Error("Cannot find package 'koffi'")));

  await assert.rejects(createNotifier({ NOTIFY_SOCKET: '/run/systemd/notify' }, open), isNotifyUnavailable);
});

test('a ready that nobody can receive is an error; a state that nobody can receive is not', async (t) => {
  const notifier = await createNotifier({ NOTIFY_SOCKET: socketPath(t) });

  await notifier.status('nobody listens');
  await assert.rejects(notifier.ready(), isNotifyUnavailable);
});

test('an address that does not fit a socket address is an error, not a shorter address', async () => {
  const notifier = await createNotifier({ NOTIFY_SOCKET: `/${'x'.repeat(200)}` });

  await assert.rejects(notifier.ready(), isNotifyUnavailable);
});

test('a failure reaches the journal with its runbook entry and its message id', options, async (t) => {
  const address = socketPath(t);
  const next = await receive(t, address);
  const { dev, ino } = fstatSync(2);
  const journal = await openJournal('memoryd', { env: { JOURNAL_STREAM: `${dev}:${ino}` }, address });

  const isTaken = journal?.fail({ code: 'store-locked', message: 'two\nlines', session: 's1' });

  assert.equal(isTaken, true);

  const entry = await next();
  assert.ok(entry.startsWith('MESSAGE\n\t\0\0\0\0\0\0\0two\nlines\nMESSAGE_ID\n'), entry);
  assert.ok(entry.includes(messageIdOf('store-locked')));
  assert.match(entry, /RUNBOOK\n.{8}store-locked\nSESSION\n.{8}s1\n$/s);
});

test('a stderr that is not the journal has no journal', async () => {
  assert.equal(await openJournal('memoryd', { env: {} }), undefined);
  assert.equal(await openJournal('memoryd', { env: { JOURNAL_STREAM: '1:1' } }), undefined);
});

test('a message id is the same in every version, and 128 bits', () => {
  assert.match(messageIdOf('store-locked'), /^[0-9a-f]{32}$/);
  assert.notEqual(messageIdOf('store-locked'), messageIdOf('store-full'));
});

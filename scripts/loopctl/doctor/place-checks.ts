/** Checks of the place: settings, folders, sockets, locks, disk. */
import { lstatSync, statSync } from 'node:fs';
import { stat, statfs } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname } from 'node:path';
import type { ErrorCode } from '../../../shared/errors.ts';
import { socketPathBytesMax } from '../../../shared/socket-path.ts';
import { isAway } from '../daemon-status.ts';
import { holderOfLock, lockFiles } from '../stopped-daemons.ts';
import { fault, ok, unseen, type Finding, type Patient } from './finding.ts';

const connectMs = 2000;
const mebibyte = 1024 * 1024;
const modeOf = (mode: number) => `0${(mode & 0o7777).toString(8)}`;

export function checkSettings({ configFaults, memorydSettings, loopdSettings }: Patient): Finding[] {
  const names = [memorydSettings && 'memoryd', loopdSettings && 'loopd'].filter((name) => name !== undefined);
  return [...configFaults, ...names.map((name) => ok(`settings ${name}`, 'valid'))];
}

export async function checkFolders({ home }: Patient): Promise<Finding[]> {
  const folders = { home: home.home, store: home.store, memory: home.memory, sessions: home.sessions };
  const findings: Finding[] = [];
  for (const [name, path] of Object.entries(folders)) {
    const what = `folder ${name}`;
    try {
      const found = await stat(path);
      const isClosed = name === 'home' ? (found.mode & 0o002) === 0 : (found.mode & 0o027) === 0;
      if (!found.isDirectory())
        findings.push(fault(what, 'config-invalid', [`${path} is no folder`, 'move it away']));
      else if (!isClosed)
        findings.push(
          fault(what, 'config-invalid', [
            `${path} has mode ${modeOf(found.mode)}: others can get at it`,
            `chmod go-rwx ${path}`,
          ]),
        );
      else findings.push(ok(what, modeOf(found.mode)));
    } catch (thrown) {
      const isMissing = (thrown as NodeJS.ErrnoException).code === 'ENOENT';
      findings.push(isMissing ? ok(what, 'not made yet: the first start makes it') : unseen(what, thrown));
    }
  }
  return findings;
}

export async function checkSockets({ home, memoryd, loopd }: Patient): Promise<Finding[]> {
  const findings: Finding[] = [];
  const sockets = [
    ...Object.entries(home.memorySockets).map(([role, path]) => ({
      what: `socket ${role}`,
      path,
      code: 'memory-unavailable' as const,
      unit: 'memoryd',
      isUp: !isAway(memoryd),
    })),
    {
      what: 'socket channel',
      path: home.channelSocket,
      code: 'loop-unavailable' as const,
      unit: 'loopd',
      isUp: !isAway(loopd),
    },
  ];
  for (const socket of sockets) findings.push(await checkSocket(socket));
  return findings;
}

interface Socket {
  readonly what: string;
  readonly path: string;
  readonly code: ErrorCode;
  readonly unit: string;
  readonly isUp: boolean;
}

async function checkSocket({ what, path, code, unit, isUp }: Socket): Promise<Finding> {
  const start = `systemctl start ${unit}, or: ${unit} serve`;
  const bytes = Buffer.byteLength(path);
  if (bytes > socketPathBytesMax)
    return fault(what, 'socket-path-too-long', [
      `${path} has ${bytes} bytes`,
      'set paths.run to a shorter folder',
    ]);
  try {
    const found = lstatSync(path);
    if (!found.isSocket())
      return fault(what, 'socket-in-use', [
        `${path} is not a socket`,
        `look at it, move it away, then: ${start}`,
      ]);
    if ((found.mode & 0o007) !== 0)
      return fault(what, 'not-permitted', [
        `${path} has mode ${modeOf(found.mode)}: anybody may use it`,
        `chmod o-rwx ${path}`,
      ]);
    const folder = statSync(dirname(path));
    const answer = await probe(path);
    if (answer !== undefined)
      return fault(what, code, [
        `${path} does not answer: ${answer}`,
        `${start}; then: journalctl -u ${unit}`,
      ]);
    return ok(
      what,
      `answers, ${modeOf(found.mode)} in ${modeOf(folder.mode)}${isUp ? '' : ', but not to status'}`,
    );
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') return unseen(what, thrown);
    return fault(what, code, [`${path} is not there`, start]);
  }
}

function probe(path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const done = (answer: string | undefined) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(connectMs, () => done(`nothing within ${connectMs} ms`));
    socket.once('connect', () => done(undefined));
    socket.once('error', (error: NodeJS.ErrnoException) => done(error.code));
  });
}

/** What holds the lock is what answers. */
export async function checkLocks({ home, memoryd, loopd }: Patient): Promise<Finding[]> {
  const findings: Finding[] = [];
  const pids = {
    memoryd: isAway(memoryd) ? undefined : memoryd.pid,
    loopd: isAway(loopd) ? undefined : loopd.pid,
  };
  for (const [name, path] of Object.entries(lockFiles(home))) {
    const what = `lock ${name}`;
    const pid = pids[name as keyof typeof pids];
    try {
      const holder = await holderOfLock(path);
      if (holder === undefined) findings.push(ok(what, 'free'));
      else if (pid === undefined)
        findings.push(
          fault(what, 'store-locked', [
            `${holder === 0 ? 'a process' : `process ${holder}`} holds it and does not answer`,
            `kill ${holder === 0 ? 'it' : holder}, then start ${name}`,
          ]),
        );
      else if (holder !== 0 && holder !== pid)
        findings.push(
          fault(what, 'store-locked', [
            `process ${holder} holds it, and process ${pid} answers`,
            'stop both, then start one',
          ]),
        );
      else findings.push(ok(what, `process ${pid}`));
    } catch (thrown) {
      findings.push(unseen(what, thrown));
    }
  }
  return findings;
}

export async function checkDisk({ home, memorydSettings }: Patient): Promise<Finding[]> {
  const floor = (memorydSettings?.store.free_mib_min ?? 0) * mebibyte;
  const findings: Finding[] = [];
  for (const name of ['store', 'sessions'] as const) {
    const what = `disk ${name}`;
    try {
      const { bavail, bsize, blocks } = await statfs(home[name]);
      const free = bavail * bsize;
      // Of a small disk no more than a twentieth is asked for.
      const wanted = Math.min(floor, (blocks * bsize) / 20);
      const text = `${Math.floor(free / mebibyte)} MiB free`;
      findings.push(
        free < wanted
          ? fault(what, 'store-full', [
              `${text}, ${Math.ceil(wanted / mebibyte)} are wanted`,
              'make space: loopctl explain store-full',
            ])
          : ok(what, text),
      );
    } catch (thrown) {
      const isMissing = (thrown as NodeJS.ErrnoException).code === 'ENOENT';
      findings.push(isMissing ? ok(what, 'not made yet') : unseen(what, thrown));
    }
  }
  return findings;
}

/** Starts both daemons for a home unless they run, opens the chat, and stops what it started. Usage: chat.ts [HOME] */
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { connect } from 'node:net';
import { homeOf } from '../../shared/home.ts';
import { programCommand, startDaemon, type RunningDaemon } from '../../shared/testing/start-daemon.ts';

process.env['LOOPKEEP_DIST'] ??= '1';
const { home, memorySockets, channelSocket } = homeOf(process.argv[2] ? { home: process.argv[2] } : {});

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => (socket.destroy(), resolve(true)));
    socket.once('error', () => resolve(false));
  });
}

mkdirSync(home, { recursive: true, mode: 0o700 });
const started: RunningDaemon[] = [];
if (!(await answers(memorySockets.ops))) started.push(await startDaemon('memoryd', home));
if (!(await answers(channelSocket))) started.push(await startDaemon('loopd', home));
const [node = process.execPath, ...args] = programCommand('scripts/loopctl/main.ts');
const chat = spawn(node, [...args, 'chat', '--home', home], { stdio: 'inherit' });
// Ctrl-C belongs to the chat, which cancels a turn with it.
process.on('SIGINT', () => undefined);
const status = await new Promise<number | null>((resolve) => chat.once('close', resolve));
for (const daemon of started.toReversed()) await daemon.stop();
process.exitCode = status ?? 1;

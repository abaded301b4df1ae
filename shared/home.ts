/** Where everything lies: one home directory, or the parts of it that a device maps elsewhere. */
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Role } from './protocol/method.ts';

export interface Home {
  readonly home: string;
  readonly sessions: string;
  readonly memory: string;
  readonly store: string;
  /** Sockets of memoryd, one for each role. */
  readonly memorySockets: Readonly<Record<Role, string>>;
  readonly channelSocket: string;
}

export interface HomeParts {
  readonly home?: string;
  readonly run?: string;
  readonly sessions?: string;
  readonly memory?: string;
  readonly store?: string;
}

export function defaultHome(): string {
  return join(homedir(), '.loopkeep');
}

/** Empty strings count as absent, as they do in the configuration files. */
export function homeOf(parts: HomeParts): Home {
  const home = resolve(parts.home || process.env['LOOPKEEP_HOME'] || defaultHome());
  const part = (name: Exclude<keyof HomeParts, 'home'>) => resolve(parts[name] || join(home, name));
  const socket = (role: Role) => join(part('run'), `${role}-memory`, 'memory.sock');
  return {
    home,
    sessions: part('sessions'),
    memory: part('memory'),
    store: part('store'),
    memorySockets: { loop: socket('loop'), gate: socket('gate'), ops: socket('ops') },
    channelSocket: join(part('run'), 'channel', 'loop.sock'),
  };
}

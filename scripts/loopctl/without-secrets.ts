/** Takes out of texts and settings what is nobody's business: credentials, people's folders and names, addresses. */
import { hostname, userInfo } from 'node:os';
import type { Home } from '../../shared/home.ts';
import { findSecrets } from '../../shared/secrets.ts';

const hidden = '<hidden>';
const mailPattern = /[\p{L}\p{N}._%+-]+@[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+/gu;
/** A path of two parts or more; a single part, as in `n/a`, says nothing. */
const pathPattern = /(?<![\w>:/])\/(?:[^\s/"'`,;:()]+\/)+[^\s/"'`,;:()]*/gu;
/** Where an installation lies is the same for everybody. */
const commonPattern =
  /^\/(?:etc\/loopkeep|usr\/|var\/lib\/loopkeep|run\/loopkeep|var\/backups\/loopkeep|proc\/)/;
const urlPattern = /\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>]+/gi;
const credentialsPattern = /\/\/[^/@\s]+@/g;
const queryPattern = /\?[^\s"']+/g;

export class Scrubber {
  readonly #names: readonly (readonly [text: string, instead: string])[];

  constructor(
    home: Home,
    own: { user: string; host: string } = { user: userInfo().username, host: hostname() },
  ) {
    const folders = [
      [home.store, '<store>'],
      [home.sessions, '<sessions>'],
      [home.memory, '<memory>'],
      [home.home, '<home>'],
    ] as const;
    const people = [own.user, own.host].filter(
      (name) => name.length > 2 && name !== 'root' && name !== 'localhost',
    );
    this.#names = [...folders, ...people.map((name) => [name, hidden] as const)];
  }

  text(text: string): string {
    // First, because what is hidden inside an address would break it up.
    let scrubbed = text.replaceAll(urlPattern, plainUrl);
    for (const { start, end } of findSecrets(scrubbed).toSorted((a, b) => b.start - a.start))
      scrubbed = scrubbed.slice(0, start) + hidden + scrubbed.slice(end);
    for (const [name, instead] of this.#names) scrubbed = scrubbed.replaceAll(name, instead);
    return scrubbed
      .replaceAll(pathPattern, (path) => (commonPattern.test(path) ? path : '<path>'))
      .replaceAll(mailPattern, hidden);
  }

  /** Every text in it, at any depth; keys stay. */
  value(value: unknown): unknown {
    if (typeof value === 'string') return this.text(value);
    if (Array.isArray(value)) return value.map((one) => this.value(one));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, this.value(one)]));
  }

  /** Of a setting only its shape where it may be a secret: variables, arguments and addresses of servers are. */
  setting(name: string, value: unknown): unknown {
    if (name === 'mcp.servers') return mapped(value, (server) => this.#server(server));
    if (/(?:^|[._])(?:key|token|secret|password)/.test(name) && value !== '') return '<set>';
    return this.value(value);
  }

  #server(server: unknown): unknown {
    const { command, args, env, cwd, url } = server as Record<string, unknown>;
    return {
      ...(typeof command === 'string' ? { command: command.split('/').at(-1) } : {}),
      ...(Array.isArray(args) ? { args: args.length } : {}),
      ...(typeof env === 'object' && env !== null ? { env: Object.keys(env).length } : {}),
      ...(cwd === undefined ? {} : { cwd: '<path>' }),
      ...(typeof url === 'string' ? { url: this.text(url) } : {}),
    };
  }
}

function plainUrl(url: string): string {
  return url.replaceAll(credentialsPattern, '//').replaceAll(queryPattern, '');
}

function mapped(value: unknown, change: (one: unknown) => unknown): unknown {
  const entries = Object.values((value ?? {}) as Record<string, unknown>);
  return entries.map((one) => change(one ?? {}));
}

/** The folder of session logs: what lies in it, whether it is still the same folder, and word of changes. */
import { statSync, watch, type FSWatcher } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isSessionId, sessionLogSuffix } from '../../../shared/protocol/sessions.ts';
import { digestOf } from './digest.ts';
import type { FileFacts } from './session-log.ts';

export interface FoundLog {
  readonly session: string;
  readonly file: FileFacts;
}

export interface Listing {
  /** Undefined where there is no folder. */
  readonly folder: string | undefined;
  readonly logs: readonly FoundLog[];
}

export class SessionsFolder {
  readonly path: string;
  #watcher: FSWatcher | undefined;

  constructor(path: string) {
    this.path = path;
  }

  pathOf(session: string): string {
    return join(this.path, session + sessionLogSuffix);
  }

  /**
   * Tells the folder from another one in its place: where a mount is missing there is one that was never the same.
   * Undefined where there is none.
   */
  mark(): string | undefined {
    const facts = statSync(this.path, { throwIfNoEntry: false });
    if (facts === undefined || !facts.isDirectory()) return undefined;
    return digestOf(`${facts.dev} ${facts.ino} ${facts.birthtimeMs}`);
  }

  /** Every log, in no order. */
  async list(): Promise<Listing> {
    const folder = this.mark();
    const logs: FoundLog[] = [];
    for (const session of await this.sessions()) {
      const file = await this.stat(session);
      if (file !== undefined) logs.push({ session, file });
    }
    return { folder, logs };
  }

  async sessions(): Promise<string[]> {
    const names = (await absentAsUndefined(readdir(this.path))) ?? [];
    return names.flatMap((name) => sessionOfName(name) ?? []);
  }

  /** @returns undefined where the session has no log. */
  async stat(session: string): Promise<FileFacts | undefined> {
    const facts = await absentAsUndefined(stat(this.pathOf(session)));
    return facts?.isFile() === true ? facts : undefined;
  }

  /**
   * Best effort: a watch may miss a change, end by itself, or hang on a folder that was replaced. So somebody must
   * look now and then as well, and watch anew when they do.
   */
  watch(onChange: (session: string) => void): void {
    this.unwatch();
    try {
      const watcher = watch(this.path, { persistent: false }, (_event, name) => {
        const session = name === null ? undefined : sessionOfName(name);
        if (session !== undefined) onChange(session);
      });
      watcher.on('error', () => this.unwatch());
      this.#watcher = watcher;
    } catch {
      // No folder yet, or no watches left: the next look finds what changed.
    }
  }

  unwatch(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
  }
}

function sessionOfName(name: string): string | undefined {
  if (!name.endsWith(sessionLogSuffix)) return undefined;
  const session = name.slice(0, -sessionLogSuffix.length);
  return isSessionId(session) ? session : undefined;
}

async function absentAsUndefined<T>(promise: Promise<T>): Promise<T | undefined> {
  try {
    return await promise;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}

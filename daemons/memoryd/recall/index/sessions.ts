/** The sessions and runs that the index knows, by number and by name. */
import type { Container, SessionFacts } from '../item.ts';
import { IndexDamage } from './damage.ts';
import { none } from './columns.ts';

export interface Session extends SessionFacts {
  readonly number: number;
  /** Its last turn, or `none`. */
  last: number;
  /** Live turns and their terms together. */
  turns: number;
  length: number;
  isForgotten: boolean;
  /** The highest record indexed; unknown until something is appended. */
  lastRecord?: number;
}

export function containerKey({ kind, id }: Container): string {
  return `${kind}\0${id}`;
}

export const sessionOrigins = [
  'person',
  'run',
  'schedule',
  'agent',
] as const satisfies SessionFacts['origin'][];

export class Sessions {
  readonly #all: Session[] = [];
  readonly #byName = new Map<string, Session>();
  /** Terms of all live turns of all sessions with any. */
  length = 0;
  /** Of each session by number, where a loop over many wants them: terms, and place in `sessionOrigins`. */
  lengths = new Float64Array(64);
  origins = new Uint8Array(64);
  /** Sessions with a live turn. */
  count = 0;

  get total(): number {
    return this.#all.length;
  }

  at(number: number): Session {
    const session = this.#all[number];
    if (session === undefined) throw new IndexDamage('a turn belongs to no session');
    return session;
  }

  find(container: Container): Session | undefined {
    return this.#byName.get(containerKey(container));
  }

  add({ kind, id, origin, startedMs }: SessionFacts, isForgotten = false): Session {
    const facts = { kind, id, origin, startedMs };
    const session = { ...facts, number: this.#all.length, last: none, turns: 0, length: 0, isForgotten };
    this.#all.push(session);
    if (this.#all.length > this.lengths.length) this.#grow();
    this.origins[session.number] = sessionOrigins.indexOf(origin);
    if (!isForgotten) this.#byName.set(containerKey(session), session);
    return session;
  }

  counted(session: Session, turn: { number: number; length: number }): void {
    if (session.turns === 0) this.count += 1;
    session.turns += 1;
    session.length += turn.length;
    this.lengths[session.number] = session.length;
    session.last = turn.number;
    this.length += turn.length;
  }

  uncounted(session: Session, turn: { length: number; before: number; number: number }): void {
    session.turns -= 1;
    session.length -= turn.length;
    this.lengths[session.number] = session.length;
    this.length -= turn.length;
    if (session.last === turn.number) session.last = turn.before;
    if (session.turns === 0) this.count -= 1;
  }

  forget(session: Session): void {
    session.isForgotten = true;
    this.#byName.delete(containerKey(session));
  }

  #grow(): void {
    const lengths = new Float64Array(this.lengths.length * 2);
    const origins = new Uint8Array(lengths.length);
    lengths.set(this.lengths);
    origins.set(this.origins);
    this.lengths = lengths;
    this.origins = origins;
  }

  *[Symbol.iterator](): Iterator<Session> {
    yield* this.#all;
  }
}

/** A forgotten session keeps its number, which its dead turns still name, and nothing that tells what it was. */
export function writeSession({ kind, id, origin, startedMs, isForgotten }: Session): Uint8Array {
  return Buffer.from(JSON.stringify(isForgotten ? { gone: true } : { kind, id, origin, startedMs }));
}

export function readSession(value: Uint8Array): SessionFacts | undefined {
  let session: Partial<SessionFacts> & { gone?: boolean };
  try {
    session = JSON.parse(Buffer.from(value).toString('utf8')) as typeof session;
  } catch {
    throw new IndexDamage('a session is not readable');
  }
  if (session.gone === true) return undefined;
  const { kind, id, origin, startedMs } = session;
  if (kind === undefined || id === undefined || origin === undefined || startedMs === undefined) {
    throw new IndexDamage('a session lacks its facts');
  }
  return { kind, id, origin, startedMs };
}

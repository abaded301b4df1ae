/** Writes of a model that wait for the person: `mp/<id>`, one record each, gone when it is decided. */
import { AppError } from '../../../shared/errors.ts';
import { ParamsError } from '../../../shared/params-error.ts';
import type { MemoryParams } from '../../../shared/protocol/memoryd.ts';
import type { CuratedFile, PendingChange } from '../../../shared/protocol/replies.ts';
import type { Role } from '../../../shared/protocol/method.ts';
import type { RecordOperation } from '../store/record-store.ts';
import type { CuratedStore } from './history.ts';

export interface Staged {
  readonly v: 1;
  readonly id: string;
  readonly file: CuratedFile;
  readonly at: string;
  readonly by: Role;
  readonly params: MemoryParams;
  /** Of the file when the write was asked for. */
  readonly version: string;
}

/** A model that nobody looks after does not fill the store. */
const stagedMax = 200;
const range = { gte: 'mp/', lt: 'mp0' };

export class PendingWrites {
  readonly #store: CuratedStore;

  constructor(store: CuratedStore) {
    this.#store = store;
  }

  /** @throws AppError memory-refused when too many wait already. */
  async stage(fields: Omit<Staged, 'v' | 'id'>): Promise<{ staged: Staged; put: RecordOperation }> {
    if ((await this.list()).length >= stagedMax) {
      throw new AppError('memory-refused', `${stagedMax} writes wait for approval already`, {
        details: { reason: 'too-many-pending', max: stagedMax },
      });
    }
    const staged: Staged = { v: 1, id: String(this.#store.nextSequence()), ...fields };
    return { staged, put: this.put(staged) };
  }

  put(staged: Staged): RecordOperation {
    return { type: 'put', key: keyOf(staged.id), json: JSON.stringify(staged) };
  }

  remove({ id }: Staged): RecordOperation {
    return { type: 'del', key: keyOf(id) };
  }

  /** @throws ParamsError when nothing of that id waits. */
  get(id: string): Staged {
    const found = /^[0-9]{1,20}$/.test(id) ? this.#store.get(keyOf(id)) : undefined;
    if (!found) throw new ParamsError('id', `no pending write has the id ${JSON.stringify(id)}`, id);
    return JSON.parse(found.json) as Staged;
  }

  /** In the order they were asked for. */
  async list(): Promise<Staged[]> {
    const staged: Staged[] = [];
    for await (const page of this.#store.range(range)) {
      for (const entry of page) if (!('damaged' in entry)) staged.push(JSON.parse(entry.json) as Staged);
    }
    return staged.toSorted((left, right) => Number(left.id) - Number(right.id));
  }

  /** Forgets the writes that hold such a text or come from a session. */
  async forget(isForgotten: (text: string) => boolean, session: string | undefined): Promise<number> {
    const forgotten = (await this.list()).filter(
      ({ params }) =>
        (session !== undefined && params.origin?.session === session) || textsOf(params).some(isForgotten),
    );
    if (forgotten.length > 0)
      await this.#store.commit(
        forgotten.map((staged) => this.remove(staged)),
        { sync: true },
      );
    return forgotten.length;
  }
}

export function pendingChange({ id, file, at, params }: Staged): PendingChange {
  return { id, file, at, params };
}

function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : [];
}

function keyOf(id: string): string {
  return `mp/${id.padStart(20, '0')}`;
}

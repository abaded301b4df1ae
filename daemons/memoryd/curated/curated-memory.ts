/** The curated memory: two bounded files that people and models edit, and the block that they make. */
import { toAppError, type AppError } from '../../../shared/errors.ts';
import { ParamsError } from '../../../shared/params-error.ts';
import type { Call } from '../../../shared/protocol/method.ts';
import { type MemoryParams } from '../../../shared/protocol/memoryd.ts';
import {
  curatedFiles,
  type BlockReply,
  type CuratedFile as FileName,
  type MemoryChange,
  type MemoryReply,
  type MemoryShow,
  type PendingChange,
} from '../../../shared/protocol/replies.ts';
import type { RecordOperation } from '../store/record-store.ts';
import type { RequestLedger } from '../store/requests.ts';
import { versionOf, type Outcome } from './actions.ts';
import { blockOf } from './block.ts';
import { CuratedFile } from './curated-file.ts';
import { makeFolder, sweepTemporary } from './disk-file.ts';
import { textsOfSession, type Forgetting, type Forgotten } from './forgetting.ts';
import type { CuratedStore } from './history.ts';
import { readMemoryParams, type MemoryRequest } from './memory-params.ts';
import { momentOf } from './moment.ts';
import { pendingChange, PendingWrites, type Staged } from './pending.ts';
import { Provenance } from './provenance.ts';
import { replyOf, usageOf } from './reply.ts';
import { statusOf, type FileStatus } from './status.ts';

export interface CuratedMemoryOptions {
  /** `<home>/memory`. */
  readonly dir: string;
  readonly store: CuratedStore;
  readonly requests: Pick<RequestLedger, 'once'>;
  /** Code points, for each file. */
  readonly limits: Readonly<Record<FileName, number>>;
  /** Whether a model's writes wait for the person. */
  readonly review: boolean;
  readonly nowMs: () => number;
  /** Told of what failed behind a reply that did not depend on it. */
  readonly log?: { warn(fields: object, message: string): void };
}

/** What the handlers of the curated memory need of the rest. */
export interface CuratedContext {
  readonly curated: CuratedMemory;
}

const logLimitDefault = 100;

type Remember<R> = (reply: R) => readonly RecordOperation[];

export class CuratedMemory {
  readonly #dir: string;
  readonly #files: Readonly<Record<FileName, CuratedFile>>;
  readonly #requests: Pick<RequestLedger, 'once'>;
  readonly #pending: PendingWrites;
  readonly #store: CuratedStore;
  /** Whether a model's writes wait for the person; may be set while it runs. */
  review: boolean;
  readonly #nowMs: () => number;
  readonly #onFault: (error: AppError) => void;

  private constructor({ dir, store, requests, limits, review, nowMs, log }: CuratedMemoryOptions) {
    this.#onFault = (error) => log?.warn({ code: error.code, err: error }, error.message);
    const fileOf = (name: FileName) =>
      new CuratedFile({ dir, name, store, limit: limits[name], nowMs, onFault: this.#onFault });
    this.#dir = dir;
    this.#files = { memory: fileOf('memory'), user: fileOf('user') };
    this.#requests = requests;
    this.#pending = new PendingWrites(store);
    this.#store = store;
    this.review = review;
    this.#nowMs = nowMs;
  }

  static async open(options: CuratedMemoryOptions): Promise<CuratedMemory> {
    const memory = new CuratedMemory(options);
    await memory.#start();
    return memory;
  }

  /** Before the first request: the folder, what a killed process left in it, and what a crash cut off. */
  async #start(): Promise<void> {
    const steps = [
      () => makeFolder(this.#dir),
      () => sweepTemporary(this.#dir),
      ...curatedFiles.map((name) => () => this.#files[name].recovered()),
      ...curatedFiles.map((name) => () => this.#files[name].make()),
    ];
    // Each request that meets the same fault reports it by its name; none of them keeps the daemon down.
    for (const step of steps) await step().catch((error: unknown) => this.#onFault(toAppError(error)));
  }

  /** Everything that runs behind replies is done. */
  async settled(): Promise<void> {
    for (const name of curatedFiles) await this.#files[name].settled();
  }

  async block(): Promise<BlockReply> {
    const [memory, user] = [this.#files.memory, this.#files.user];
    const [memoryFile, userFile] = await Promise.all([memory.read(), user.read()]);
    return blockOf({
      memory: { file: memoryFile, limit: memory.limit },
      user: { file: userFile, limit: user.limit },
    });
  }

  /** The tool `memory`, and everything else that changes a file through it. */
  async apply(params: MemoryParams, call: Call): Promise<MemoryReply> {
    const request = readMemoryParams(params);
    const file = this.#files[request.file];
    if (request.operations.every(({ action }) => action === 'view')) return await this.#view(file);
    await file.recovered();
    return await this.#requests.once<MemoryReply>(call, params, (remember) =>
      this.review && call.role === 'loop'
        ? this.#stage(request, { params, call, remember })
        : this.#change({ request, call, remember }),
    );
  }

  async log({
    file,
    limit = logLimitDefault,
    cursor,
  }: {
    file: FileName;
    limit?: number;
    cursor?: string;
  }): Promise<{ changes: MemoryChange[]; next?: string }> {
    const before = cursor === undefined ? undefined : Number(cursor);
    if (before !== undefined && !Number.isSafeInteger(before))
      throw new ParamsError('cursor', 'cursor is not one that memory/log gave', cursor);
    return await this.#files[file].history.page(limit, before);
  }

  /** The entries with their provenance, now or as they were at a time. */
  async show({ file: name, at }: { file: FileName; at?: string }): Promise<MemoryShow> {
    const file = this.#files[name];
    const untilMs = at === undefined ? Number.POSITIVE_INFINITY : momentOf(at);
    let entries: readonly string[] = [];
    if (at === undefined) {
      ({ entries } = await file.read());
      await file.settled();
    }
    const provenance = new Provenance();
    for await (const change of file.history.walk()) {
      if (!change || Date.parse(change.at) > untilMs) continue;
      provenance.follow(change);
      if (at !== undefined) ({ entries } = change);
    }
    const { used, limit } = usageOf(file, entries);
    return { file: name, version: versionOf(entries), used, limit, entries: provenance.show(entries) };
  }

  async pending(): Promise<PendingChange[]> {
    return (await this.#pending.list()).map(pendingChange);
  }

  /** @throws AppError as the write itself does; then it waits on. */
  async decide(
    params: { id: string; approve: boolean; request_id?: string },
    call: Call,
  ): Promise<{ decided: 'approved' | 'rejected'; reply?: MemoryReply }> {
    type Decision = { decided: 'approved' | 'rejected'; reply?: MemoryReply };
    return await this.#requests.once<Decision>(call, params, async (remember) => {
      const staged = this.#pending.get(params.id);
      if (params.approve) {
        const reply = await this.#change({
          request: readMemoryParams(staged.params),
          call: { role: staged.by, method: 'memory' },
          remember: (reply) => remember({ decided: 'approved', reply }),
          staged,
        });
        return { decided: 'approved', reply };
      }
      const decision: Decision = { decided: 'rejected' };
      await this.#store.commit([this.#pending.remove(staged), ...remember(decision)], { sync: true });
      return decision;
    });
  }

  /** For each file what it is and what is wrong with it; it does not throw. */
  async status(): Promise<Record<FileName, FileStatus>> {
    const waiting = await this.#pending.list().catch(() => []);
    const of = async (name: FileName) => {
      const file = this.#files[name];
      const pending = waiting.filter((staged) => staged.file === name).length;
      return await statusOf(file, pending);
    };
    return { memory: await of('memory'), user: await of('user') };
  }

  /**
   * Forgets what matches: entries, what the history says of them, and writes that wait. Of a change that is kept the
   * other texts stay. Backups and frozen baselines are not looked at.
   */
  async forgetMatching(
    isForgotten: (text: string) => boolean,
    { dryRun }: { dryRun: boolean },
  ): Promise<(Forgotten & { file: FileName })[]> {
    return await this.#forget({ dryRun, of: async () => ({ isForgotten, session: undefined }) });
  }

  /** Forgets what a session wrote, and that it was this session. */
  async forgetSession(
    session: string,
    { dryRun }: { dryRun: boolean },
  ): Promise<(Forgotten & { file: FileName })[]> {
    return await this.#forget({
      dryRun,
      of: async (file) => {
        const own = await textsOfSession(file.history, session);
        return { isForgotten: (text) => own.has(text), session };
      },
    });
  }

  /**
   * Brings in a file of an export, after the records of that export.
   * @returns false when all of it was there
   */
  async restore(file: FileName, text: string): Promise<boolean> {
    return await this.#files[file].restore(text);
  }

  async #forget({
    dryRun,
    of,
  }: {
    dryRun: boolean;
    of: (file: CuratedFile) => Promise<Omit<Forgetting, 'isDryRun'>>;
  }): Promise<(Forgotten & { file: FileName })[]> {
    const forgotten = [];
    for (const name of curatedFiles) {
      const file = this.#files[name];
      const what = await of(file);
      forgotten.push({ file: name, ...(await file.forget({ ...what, isDryRun: dryRun })) });
      if (!dryRun) await this.#pending.forget(what.isForgotten, what.session);
    }
    return forgotten;
  }

  async #view(file: CuratedFile): Promise<MemoryReply> {
    const { entries } = await file.read();
    return replyOf(file, { entries, changed: [], undone: 0 });
  }

  async #change({
    request,
    call,
    remember,
    staged,
  }: {
    request: MemoryRequest;
    call: Call;
    remember: Remember<MemoryReply>;
    staged?: Staged;
  }): Promise<MemoryReply> {
    const file = this.#files[request.file];
    const kept = (outcome: Outcome) => remember(replyOf(file, outcome));
    const isUndo = request.operations.some(({ action }) => action === 'undo');
    const outcome = await file.change({
      request,
      by: call.role,
      beside: (done) => [...kept(done), ...(staged ? [this.#pending.remove(staged)] : [])],
      withdrawn: (done) => [
        ...kept(done).map(({ key }) => ({ type: 'del', key }) as const),
        ...(staged ? [this.#pending.put(staged)] : []),
      ],
      // The last change that is taken back has to be the one that was the last when this was asked for.
      ...(staged && isUndo ? { version: staged.version } : {}),
    });
    return replyOf(file, outcome);
  }

  /** The write is judged now, and waits if it would be done. */
  async #stage(
    request: MemoryRequest,
    { params, call, remember }: { params: MemoryParams; call: Call; remember: Remember<MemoryReply> },
  ): Promise<MemoryReply> {
    const file = this.#files[request.file];
    const { before, outcome } = await file.wouldBe(request, call.role);
    if (versionOf(before) === versionOf(outcome.entries)) return replyOf(file, outcome);
    const { request_id: _, ...asked } = params;
    const { staged, put } = await this.#pending.stage({
      file: request.file,
      at: new Date(this.#nowMs()).toISOString(),
      by: call.role,
      params: asked,
      version: versionOf(before),
    });
    const note = `Not written yet: this waits for the person to approve it (pending write ${staged.id}). The entries are as before.`;
    const reply = replyOf(file, { entries: before, changed: [], undone: 0, note });
    await this.#store.commit([put, ...remember(reply)], { sync: true });
    return reply;
  }
}

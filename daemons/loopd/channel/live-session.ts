/** A session in use: who watches it, the turn that runs in it, and prompts taken one at a time. */
import type { SessionUpdate } from '@agentclientprotocol/sdk';
import { AppError } from '../../../shared/errors.ts';
import type { Question } from '../decide/decider.ts';
import type { Session } from '../session/session.ts';
import type { Sessions } from '../session/sessions.ts';
import type { Decision, TurnEnd, TurnEvent } from '../turn/effects.ts';
import { pastTurn, type TurnResult } from './past-turn.ts';
import { askPermission, type Askable } from './permission.ts';
import { turnReport } from './turn-report.ts';
import { eventUpdates, partialUpdates, recordUpdates, titled, userChunk } from './updates.ts';

/** A client that watches a session. */
export interface Watcher extends Askable {
  /** It has left, perhaps while its request was still being worked on. */
  readonly isGone: boolean;
  /** Never waits and never throws: a client that reads slowly is the connection's affair. */
  send(session: string, update: SessionUpdate): void;
  /** Resolves when the client has read most of what it was sent. */
  drained(): Promise<void>;
}

export interface PromptRequest {
  readonly text: string;
  readonly name?: string;
  readonly requestId?: string;
  readonly from?: Watcher;
}

export interface LiveSessionOptions {
  readonly sessions: Sessions;
  /** Runs the newest turn of the session to its end. */
  readonly runTurn: (session: Session, live: LiveSession, signal: AbortSignal) => Promise<TurnEnd>;
  /** A turn is over: its records are written and its result is known. */
  readonly onTurnOver: (session: Session, end: TurnEnd) => void;
  readonly askWaitMs: number;
}

interface RunningTurn {
  readonly turn: number;
  readonly abort: AbortController;
  readonly done: Promise<TurnResult>;
  /** What was streamed of the step that runs, for clients that come in the middle of it. */
  partial: { step: number; text: string; thought: string };
  attempt: number;
}

/** Of a step's text, for a client that comes late. */
const partialCharsMax = 1024 * 1024;

export class LiveSession {
  readonly id: string;
  readonly watchers = new Set<Watcher>();
  readonly #options: LiveSessionOptions;
  readonly #allowed = new Set<string>();
  readonly #prompting = new Set<AbortController>();
  #running: RunningTurn | undefined;
  #order: Promise<unknown> = Promise.resolve();
  /** Who needs the open log: the running turn, and replays. */
  #holds = 0;
  #abandon: (reason: AppError) => void = () => {};
  /** Never resolves. */
  readonly #abandoned: Promise<never>;

  constructor(id: string, options: LiveSessionOptions) {
    this.id = id;
    this.#options = options;
    this.#abandoned = new Promise((_, reject) => {
      this.#abandon = reject;
    });
    this.#abandoned.catch(() => undefined);
  }

  get runningTurn(): number | undefined {
    return this.#running?.turn;
  }

  get isInUse(): boolean {
    return this.watchers.size > 0 || this.#running !== undefined || this.#prompting.size > 0;
  }

  /** Resolves when no turn runs. */
  async idle(): Promise<void> {
    while (this.#running !== undefined) await this.#running.done.catch(() => undefined);
  }

  /**
   * Runs a turn, or finds the one that the same request started before.
   * @throws AppError session-unknown, session-damaged, session-busy, request-reused, session-write-failed, store-full
   */
  async prompt(request: PromptRequest): Promise<TurnResult> {
    const abort = new AbortController();
    this.#prompting.add(abort);
    try {
      // In order, so that of two prompts at once exactly one is accepted; the turn itself is waited for outside.
      const { result } = await this.#inOrder(() => this.#begin(request, abort));
      return await Promise.race([result(), this.#abandoned]);
    } finally {
      this.#prompting.delete(abort);
    }
  }

  /** Stops what runs, or is about to; nothing to stop is fine. */
  cancel(): void {
    for (const abort of this.#prompting) abort.abort();
    this.#running?.abort.abort();
  }

  /** Answers the prompts that wait; their turn goes on after the next start, and the same request finds it again. */
  abandon(): void {
    this.#abandon(new AppError('stopping', 'loopd is stopping; the turn goes on after the next start'));
  }

  /** Goes on with a turn that a crash broke off. */
  async resume(): Promise<void> {
    await this.#inOrder(async () => {
      const session = await this.#options.sessions.open(this.id);
      if (this.#running === undefined && session.history.hasUnfinishedTurn)
        this.#run(session, new AbortController());
    });
  }

  /** Runs something that no turn may begin beside: forgetting, deleting. @throws AppError session-busy */
  exclusively<T>(work: () => Promise<T>): Promise<T> {
    return this.#inOrder(async () => {
      if (this.#running !== undefined) throw this.#busy(this.#running.turn);
      return work();
    });
  }

  #inOrder<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#order.then(work);
    this.#order = done.catch(() => undefined);
    return done;
  }

  /** Sends everything that was said, then what is said from now on, without a gap and nothing twice. */
  async replayTo(watcher: Watcher): Promise<void> {
    const session = await this.#options.sessions.open(this.id);
    this.#hold(session);
    try {
      // Live updates would overtake what is replayed.
      this.watchers.delete(watcher);
      let lastSeq = -1;
      for await (const record of session.log.records()) {
        lastSeq = record.seq;
        for (const update of recordUpdates(record)) watcher.send(this.id, update);
        await watcher.drained();
      }
      // What was written meanwhile is in memory; from here to the end nothing waits.
      const { records, current } = session.history;
      for (const record of records) {
        if (record.seq > lastSeq) for (const update of recordUpdates(record)) watcher.send(this.id, update);
      }
      const step = this.#running?.partial.step;
      const isRecorded = current.some((record) => record.type === 'assistant' && record.step === step);
      this.watch(watcher, { withPartial: !isRecorded });
    } finally {
      this.#release(session);
    }
  }

  watch(watcher: Watcher, { withPartial = true } = {}): void {
    if (watcher.isGone) return;
    const running = this.#running;
    if (running !== undefined && withPartial && !this.watchers.has(watcher)) {
      for (const update of partialUpdates(running.partial, running)) watcher.send(this.id, update);
    }
    this.watchers.add(watcher);
  }

  /** @throws AppError session-busy, where the log is being replaced */
  #hold(session: Session): void {
    if (this.#holds === 0 && session.isBusy) {
      throw new AppError('session-busy', `session ${this.id} is being changed`, {
        details: { session: this.id },
      });
    }
    this.#holds += 1;
    session.isBusy = true;
  }

  #release(session: Session): void {
    this.#holds -= 1;
    session.isBusy = this.#holds > 0;
  }

  setTitle(title: string, at: string): void {
    this.#tell(titled(title, at));
  }

  ask(question: Question, signal: AbortSignal): Promise<Decision> {
    const clients = [...this.watchers];
    return askPermission(question, {
      clients,
      waitMs: this.#options.askWaitMs,
      signal,
      allowed: this.#allowed,
    });
  }

  /** What a turn says while it runs. */
  emit(event: TurnEvent): void {
    const running = this.#running;
    if (running === undefined) return;
    if (event.type === 'reset') {
      running.partial = { step: event.step, text: '', thought: '' };
    } else if (event.type === 'text' || event.type === 'thought') {
      this.#keepPartial(running, event);
    } else if (event.type === 'call')
      running.partial = { step: running.partial.step + 1, text: '', thought: '' };
    for (const update of eventUpdates(event, running)) this.#tell(update);
    if (event.type === 'reset') running.attempt += 1;
  }

  #keepPartial(
    running: RunningTurn,
    { type, step, delta }: { type: 'text' | 'thought'; step: number; delta: string },
  ): void {
    if (running.partial.step !== step) {
      running.partial = { step, text: '', thought: '' };
      running.attempt = 0;
    }
    if (running.partial[type].length + delta.length <= partialCharsMax) running.partial[type] += delta;
  }

  #tell(update: SessionUpdate, except?: Watcher): void {
    for (const watcher of this.watchers) if (watcher !== except) watcher.send(this.id, update);
  }

  async #begin(
    request: PromptRequest,
    abort: AbortController,
  ): Promise<{ result: () => Promise<TurnResult> }> {
    const { text, name, requestId, from } = request;
    const session = await this.#options.sessions.open(this.id);
    const { history } = session;
    const known = requestId === undefined ? undefined : history.request(requestId);
    if (this.#running === undefined && history.hasUnfinishedTurn) this.#run(session, new AbortController());
    const running = this.#running;
    if (running !== undefined && known === undefined) throw this.#busy(running.turn);
    this.#hold(session);
    try {
      const prompt = {
        text,
        ...(name === undefined ? {} : { name }),
        ...(requestId === undefined ? {} : { requestId }),
      };
      const { turn, isNew } = await session.accept(prompt);
      if (running !== undefined && running.turn === turn) return { result: () => running.done };
      if (!isNew) return { result: () => pastTurn(session, turn) };
      if (from !== undefined) this.watch(from);
      const record = history.current.find((one) => one.type === 'turn');
      if (record?.type === 'turn') this.#tell(userChunk(record), from);
      const { done } = this.#run(session, abort);
      return { result: () => done };
    } finally {
      this.#release(session);
    }
  }

  #busy(turn: number): AppError {
    const details = { session: this.id, turn };
    return new AppError('session-busy', `session ${this.id} is running turn ${turn}`, { details });
  }

  #run(session: Session, abort: AbortController): RunningTurn {
    this.#hold(session);
    const done = this.#toEnd(session, abort.signal);
    // The prompt that waits for it, if one does, is told; a turn that was resumed has nobody.
    done.catch(() => undefined);
    const { turn } = session.history;
    const running = { turn, abort, done, partial: { step: 0, text: '', thought: '' }, attempt: 0 };
    this.#running = running;
    return running;
  }

  async #toEnd(session: Session, signal: AbortSignal): Promise<TurnResult> {
    // Not before `#running` is set.
    await Promise.resolve();
    try {
      const end = await this.#options.runTurn(session, this, signal);
      const result = { end, report: turnReport(session.history.current) };
      this.#options.onTurnOver(session, end);
      return result;
    } finally {
      this.#running = undefined;
      this.#release(session);
    }
  }
}

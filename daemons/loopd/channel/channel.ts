/** loopd's channel: everything behind its socket, made of the sessions, the memory link, the model and the tools. */
import { readdir } from 'node:fs/promises';
import type { Duplex } from 'node:stream';
import { setImmediate as nextRound } from 'node:timers/promises';
import { AppError, toAppError } from '../../../shared/errors.ts';
import { sessionLogSuffix, type Origin } from '../../../shared/protocol/sessions.ts';
import { version } from '../../../shared/version.ts';
import type { Deciders } from '../decide/decider.ts';
import type { MemoryLink } from '../memory.ts';
import type { Model } from '../model/model.ts';
import type { Session } from '../session/session.ts';
import type { Mended } from '../session/session-log.ts';
import type { Sessions } from '../session/sessions.ts';
import type { McpServers } from '../tools/mcp.ts';
import type { McpTimes } from '../tools/mcp-connection.ts';
import type { TurnEnd } from '../turn/effects.ts';
import { runTurn, type TurnLimits } from '../turn/turn.ts';
import type { ChannelLimits } from './acp-stream.ts';
import type { AgentParts } from './agent.ts';
import { ChannelConnection } from './connection.ts';
import { forgetTurns } from './forget-turns.ts';
import { ArrivingLogs } from './import-logs.ts';
import { importSessions } from './import-sessions.ts';
import type { LiveSession } from './live-session.ts';
import { LiveSessions } from './live-sessions.ts';
import { baselineWithoutMemory, newSession, type BaselineSource } from './new-session.ts';
import { SessionTools } from './session-tools.ts';
import { turnEffects } from './turn-effects.ts';
import { unfinishedSessions } from './unfinished.ts';
import { Untold } from './untold.ts';

interface ChannelLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface ChannelOptions {
  readonly sessions: Sessions;
  readonly memory: MemoryLink;
  readonly model: Model;
  /** A title for a session after its first turn; undefined where there is none to be had. */
  readonly title?: (
    first: { prompt: string; answer: string },
    signal: AbortSignal,
  ) => Promise<string | undefined>;
  readonly deciders: Deciders;
  readonly mcp: McpServers;
  readonly mcpTimes: McpTimes;
  readonly takesClientServers: boolean;
  readonly systemPath: string;
  readonly fixedTokensMax: number;
  readonly turnLimits: Partial<TurnLimits>;
  /** How long a person has to answer whether a call may run. */
  readonly askWaitMs: number;
  readonly limits: ChannelLimits;
  readonly log: ChannelLog;
  readonly nowMs?: () => number;
}

const titleTimeoutMs = 60_000;
/** Status waits this long for the model server. */
const healthTimeoutMs = 1_000;

export class Channel {
  readonly #options: ChannelOptions;
  readonly #live: LiveSessions;
  readonly #tools: SessionTools;
  readonly #untold: Untold;
  readonly #connections = new Set<ChannelConnection>();
  readonly #faults = new Map<string, number>();
  readonly #startedMs = performance.now();
  readonly #stopping = new AbortController();
  readonly #agentParts: AgentParts;
  #turnsOver = 0;
  #logsMended = 0;

  private constructor(options: ChannelOptions, untold: Untold) {
    const {
      sessions,
      memory,
      model,
      mcp,
      mcpTimes,
      takesClientServers,
      askWaitMs,
      nowMs = Date.now,
    } = options;
    this.#options = options;
    this.#untold = untold;
    sessions.onMended = (session, mended) => this.#mended(session, mended);
    const clock = { nowMs };
    this.#tools = new SessionTools({
      memory,
      clock,
      mcp,
      mcpTimes,
      callMs: mcpTimes.callMs,
      takesClientServers,
    });
    this.#live = new LiveSessions({
      sessions,
      untold,
      askWaitMs,
      runTurn: (session, live, signal) => this.#runTurn(session, live, signal),
      onTurnOver: (session, end) => this.#turnOver(session, end),
      onUnused: (id) => {
        model.release(id);
        void this.#tools.drop(id);
      },
    });
    const logs = new ArrivingLogs(sessions);
    this.#agentParts = {
      sessions,
      model,
      live: this.#live,
      tools: this.#tools,
      create: (origin) => this.#create(origin),
      extensions: {
        '_loopkeep/import': (params) =>
          importSessions(params, {
            sessions,
            memory,
            logs,
            baseline: () => baselineWithoutMemory(this.#baselineSource),
          }),
        '_loopkeep/forget': (params) => forgetTurns(params, { sessions, memory, live: this.#live }),
        '_loopkeep/status': () => this.status(),
      },
      onError: (error, method) => this.#answeredError(error, method),
    };
  }

  static async open(options: ChannelOptions): Promise<Channel> {
    const { sessions, memory } = options;
    return new Channel(options, await Untold.open(sessions.directory, memory));
  }

  get connections(): number {
    return this.#connections.size;
  }

  /** Serves one client until it goes. */
  serve(duplex: Duplex): void {
    const connection = new ChannelConnection(duplex, this.#options.limits, this.#agentParts);
    this.#connections.add(connection);
    void connection.closed.then(() => this.#connections.delete(connection));
  }

  /** Goes on with the turns that a crash or a stop broke off; what cannot be opened is logged and left alone. */
  async resumeTurns(): Promise<void> {
    for await (const id of unfinishedSessions(this.#options.sessions.directory)) {
      if (this.#stopping.signal.aborted) return;
      try {
        await this.#live.with(id, (live) => live.resume());
      } catch (thrown) {
        const { code, message } = toAppError(thrown);
        this.#options.log.warn(
          { session: id, code, RUNBOOK: code, reason: message },
          'a turn could not be resumed',
        );
      }
    }
  }

  async status(): Promise<Record<string, unknown>> {
    const { sessions, memory, model, mcp } = this.#options;
    const names = await readdir(sessions.directory);
    const health = await model.health(AbortSignal.timeout(healthTimeoutMs));
    return {
      version,
      pid: process.pid,
      uptime_s: (performance.now() - this.#startedMs) / 1000,
      model: { kind: model.kind, name: model.name, ...health },
      sessions: names.filter((name) => name.endsWith(sessionLogSuffix)).length,
      connections: this.#connections.size,
      running: this.#live.running,
      turns: this.#turnsOver,
      memory: memory.counters,
      deleted_untold: this.#untold.count,
      logs_mended: this.#logsMended,
      mcp: mcp.states,
      faults: Object.fromEntries(this.#faults),
    };
  }

  /**
   * Takes nothing new and gives the turns that run some time; one that is not over by then goes on after the next
   * start.
   */
  async stop(graceMs: number): Promise<void> {
    this.#stopping.abort();
    await this.#untold.stop();
    await this.#live.stop(graceMs);
    // The answers of prompts that were given up leave first.
    await nextRound();
    for (const connection of this.#connections) connection.close();
    await this.#tools.stop();
  }

  get #baselineSource(): BaselineSource {
    const { memory, systemPath, fixedTokensMax } = this.#options;
    return { memory, systemPath, fixedTokensMax, tools: this.#tools.definitions };
  }

  async #create(origin: Origin): Promise<{ id: string; meta: Record<string, unknown> }> {
    if (this.#stopping.signal.aborted)
      throw new AppError('stopping', 'loopd is stopping: send it again soon');
    const { sessions, model } = this.#options;
    const session = await newSession(sessions, this.#baselineSource, { origin, model: model.name });
    const { version: block, tokens } = session.history.session.baseline;
    return { id: session.id, meta: { origin, model: model.kind, baseline: { version: block, tokens } } };
  }

  #runTurn(session: Session, live: LiveSession, signal: AbortSignal): Promise<TurnEnd> {
    const { model, deciders, turnLimits } = this.#options;
    const effects = turnEffects(session, {
      model,
      deciders,
      tools: this.#tools.of(session.id),
      ask: (question, cancelled) => live.ask(question, cancelled),
      emit: (event) => live.emit(event),
    });
    return runTurn(session.history, {
      effects,
      signal,
      limits: turnLimits,
      contextTokens: () => model.contextTokens(),
    });
  }

  #turnOver(session: Session, { turn, outcome, error }: TurnEnd): void {
    this.#turnsOver += 1;
    const { id, history } = session;
    this.#options.log.info(
      { session: id, turn, outcome, ...(error ? { code: error.code } : {}) },
      'turn over',
    );
    void this.#options.memory.updated(id);
    const isFirst = history.title === undefined && outcome === 'answer';
    if (isFirst) void this.#giveTitle(session).catch(() => undefined);
  }

  /** Best effort: a session without a title is shown by how it began. */
  async #giveTitle(session: Session): Promise<void> {
    const { title: ask, sessions } = this.#options;
    const { current } = session.history;
    const prompt = current.find((record) => record.type === 'turn');
    const answer = current.findLast((record) => record.type === 'assistant');
    if (ask === undefined || prompt?.type !== 'turn' || answer?.type !== 'assistant') return;
    const signal = AbortSignal.any([AbortSignal.timeout(titleTimeoutMs), this.#stopping.signal]);
    const title = await ask({ prompt: prompt.text, answer: answer.text }, signal);
    if (title === undefined || title.trim() === '' || signal.aborted) return;
    // Opened anew: it may have been closed, deleted or forgotten meanwhile.
    const { id } = session;
    const now = await sessions.open(id);
    if (now.history.title !== undefined) return;
    const record = await now.append({ type: 'title', title: title.trim() }, { sync: false });
    this.#live.known(id)?.setTitle(title.trim(), record.at);
  }

  #mended(session: string, { cutBytes, isNewlineAdded }: Mended): void {
    this.#logsMended += 1;
    this.#options.log.warn(
      { session, cut_bytes: cutBytes, newline_added: isNewlineAdded },
      'the end of a session log was mended',
    );
  }

  #answeredError(error: AppError, method: string): void {
    const { code, message } = error;
    this.#faults.set(code, (this.#faults.get(code) ?? 0) + 1);
    const fields = { code, RUNBOOK: code, method, reason: message };
    if (code === 'internal')
      this.#options.log.error({ ...fields, err: error.cause ?? error }, 'a bug answered a request');
    else this.#options.log.info(fields, 'refused');
  }
}

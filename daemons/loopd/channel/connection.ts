/** One client of the channel: its requests, and the updates of the sessions that it watches. */
import type { Duplex } from 'node:stream';
import type {
  AgentConnection,
  RequestPermissionRequest,
  RequestPermissionResponse,
  SessionUpdate,
} from '@agentclientprotocol/sdk';
import { AcpStream, type ChannelLimits } from './acp-stream.ts';
import { createAgent, type AgentParts } from './agent.ts';
import type { Watcher } from './live-session.ts';

export class ChannelConnection implements Watcher {
  readonly #stream: AcpStream;
  readonly #agent: AgentConnection;
  #lastSent: Promise<void> = Promise.resolve();
  #isGone = false;

  constructor(duplex: Duplex, limits: ChannelLimits, parts: AgentParts) {
    this.#stream = new AcpStream(duplex, limits);
    this.#agent = createAgent(parts, this).connect(this.#stream.stream);
    void this.#agent.closed.then(() => {
      this.#isGone = true;
      parts.live.forgetWatcher(this);
    });
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  get closed(): Promise<void> {
    return this.#agent.closed;
  }

  send(sessionId: string, update: SessionUpdate): void {
    // A client that is gone is told nothing.
    this.#lastSent = this.#agent.client
      .notify('session/update', { sessionId, update })
      .catch(() => undefined);
  }

  async drained(): Promise<void> {
    await this.#lastSent;
    await this.#stream.drained();
  }

  ask(request: RequestPermissionRequest, signal: AbortSignal): Promise<RequestPermissionResponse> {
    const options = { cancellationSignal: signal, stopWaitingOnCancel: true };
    return this.#agent.client.request('session/request_permission', request, options);
  }

  /** Sends what was written, then ends. */
  close(): void {
    this.#stream.close();
  }
}
